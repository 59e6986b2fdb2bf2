"""Digests stand for content: equal exactly when the content is (contract 2.1)."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.contract.digest import RECORD_DIGEST_BYTES, checkpoint_digest, record_digest
from runlane.contract.times import is_whole_millisecond, micros, time_fault, to_utc
from runlane.contract.values import RunRecord

TEXT = st.text(max_size=4)
RECORDS = st.builds(
    RunRecord,
    event_key=TEXT,
    run_id=TEXT,
    agent_id=TEXT,
    session_id=TEXT,
    turn_id=TEXT,
    type=TEXT,
    payload=st.binary(max_size=6),
    timestamp=st.sampled_from([datetime(2026, 1, 1, tzinfo=UTC), datetime(1960, 1, 1, tzinfo=UTC)]),
)


@given(RECORDS, RECORDS)
def test_digests_are_equal_exactly_when_records_are(one: RunRecord, other: RunRecord) -> None:
    assert (record_digest(one) == record_digest(other)) == (one == other)


@given(RECORDS, st.integers(0, 5), TEXT)
def test_text_that_moves_between_fields_changes_the_digest(record: RunRecord, place: int, text: str) -> None:
    fields = ["event_key", "run_id", "agent_id", "session_id", "turn_id", "type"]
    here, there = fields[place], fields[(place + 1) % 6]
    moved = replace(record, **{here: text + getattr(record, there), there: ""})
    assert (record_digest(moved) == record_digest(record)) == (moved == record)


def test_a_digest_does_not_depend_on_the_time_zone() -> None:
    at = datetime(2026, 7, 1, 12, 0, 0, 5_000, tzinfo=UTC)
    record = RunRecord("k", "r", "a", "s", "t", "type", b"{}", at)
    elsewhere = replace(record, timestamp=at.astimezone(timezone(timedelta(hours=-7))))
    assert record_digest(elsewhere) == record_digest(record)
    assert len(record_digest(record)) == RECORD_DIGEST_BYTES


def test_the_digest_never_changes_between_versions() -> None:
    """A journal holds these digests for ever: another way of counting would make every retry a conflict."""
    at = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    record = RunRecord("key", "run", "agent", "session", "turn", "type", b'{"a":1}', at)
    assert record_digest(record).hex() == "6d417dea30014cc1b2e20d3e8f0cd4f3"


def test_a_checkpoint_is_told_by_its_sha256() -> None:
    assert checkpoint_digest(b"\x00data") == hashlib.sha256(b"\x00data").digest()


def test_an_instant_is_aware_and_within_the_years_1_to_9999_in_utc() -> None:
    late = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))
    assert time_fault(datetime(2026, 1, 1)) == "time_without_zone"  # noqa: DTZ001 - that is the point
    assert time_fault(late) == time_fault(early) == "time_out_of_range"
    assert time_fault(datetime.max.replace(tzinfo=UTC)) == ""


@pytest.mark.parametrize("odd", [timedelta(0), timedelta(microseconds=1)])
def test_a_whole_millisecond_is_judged_by_the_instant(odd: timedelta) -> None:
    zone = timezone(timedelta(hours=1) + odd)
    written = datetime(2026, 1, 1, 12, tzinfo=zone)
    assert is_whole_millisecond(written) == (not odd)
    assert micros(to_utc(written)) == micros(written)
