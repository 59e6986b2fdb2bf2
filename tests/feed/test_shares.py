"""Shares of activity windows on the topic, and what they add up to."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.contract.activity import (
    ActivityShare,
    bucket_of,
    decode_share,
    encode_share,
    merge,
    percentile,
    share_message,
    window_start,
)
from runlane.contract.errors import InvalidCommand

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNT = st.integers(0, 2**40)
SHARES = st.builds(
    ActivityShare,
    agent_id=st.sampled_from(("planner", "réviseur", "a/b")),
    partition=st.integers(0, 3),
    window_start=st.integers(0, 5).map(lambda minutes: NOON + timedelta(minutes=minutes)),
    revision=COUNT,
    starts=COUNT,
    running=COUNT,
    tokens=COUNT,
    tool_latency_ms=st.lists(st.tuples(COUNT, COUNT), max_size=3, unique_by=lambda pair: pair[0]).map(tuple),
)


@given(SHARES)
def test_a_share_comes_back_as_it_was(share: ActivityShare) -> None:
    assert decode_share(encode_share(share)) == share
    assert share_message(share).key == share.agent_id.encode()


@pytest.mark.parametrize(
    "change",
    [
        {"agent_id": ""},
        {"agent_id": 1},
        {"starts": -1},
        {"starts": True},
        {"starts": 2**63},
        {"revision": None},
        {"window_start": "2026-03-01T12:00:01Z"},
        {"window_start": "2026-03-01T12:00:00"},
        {"window_start": "soon"},
        {"window_start": "0001-01-01T00:00:00+14:00"},
        {"tool_latency_ms": {}},
        {"tool_latency_ms": [[1]]},
        {"tool_latency_ms": [[1, "2"]]},
    ],
)
def test_what_is_no_share_is_refused(change: dict[str, Any]) -> None:
    value = json.loads(encode_share(ActivityShare("a", 0, NOON)))
    with pytest.raises(InvalidCommand):
        decode_share(json.dumps(value | change).encode())


@pytest.mark.parametrize("data", [None, b"", b"[]", b"{", b'{"a":1}', b"x" * 100_000])
def test_what_is_no_object_is_refused(data: bytes | None) -> None:
    with pytest.raises(InvalidCommand):
        decode_share(data)


@given(st.lists(SHARES.filter(lambda share: share.agent_id == "planner"), min_size=1), st.randoms())
def test_repeating_and_reordering_shares_changes_no_window(shares: list[ActivityShare], chance: Any) -> None:
    latest = {(*one.identity, one.revision): one for one in shares}
    again = [*latest.values(), *latest.values()]
    chance.shuffle(again)
    assert merge(again) == merge(list(latest.values()))


@given(st.integers(0, 2**60))
def test_a_bucket_is_an_eighth_wide_at_most(nanoseconds: int) -> None:
    milliseconds = nanoseconds // 1_000_000
    bucket = bucket_of(nanoseconds)
    assert milliseconds <= bucket <= max(15, milliseconds * 9 / 8)
    assert bucket_of(bucket * 1_000_000) == bucket


def test_percentiles_are_upper_bounds() -> None:
    assert percentile({}, 0.5) is None
    assert percentile({7: 1}, 0.5) == 7
    assert percentile({7: 10, 127: 9, 1023: 1}, 0.5) == 7
    assert percentile({7: 10, 127: 9, 1023: 1}, 0.95) == 127
    assert percentile({7: 10, 127: 9, 1023: 1}, 0.96) == 1023


def test_windows_are_cut_at_whole_minutes() -> None:
    assert window_start(NOON + timedelta(seconds=59, microseconds=999_999)) == NOON
    assert window_start(NOON + timedelta(seconds=60)) == NOON + timedelta(minutes=1)
