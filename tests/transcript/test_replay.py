"""Replay of a run's records (contract 6.3; cases C310 to C314)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.transcript import (
    CitationsPart,
    Message,
    ReplayError,
    TextPart,
    ThinkingPart,
    assistant_turns,
    build_messages_from_run_log,
    decode_messages,
    encode_messages,
    replay_run_log_events,
)
from tests.transcript.golden import exact, lines
from tests.transcript.strategies import MESSAGES

LINES = lines("replay.jsonl")
REPLAYS = [line for line in LINES if "records" in line]


@dataclass(frozen=True)
class Record:
    type: str
    payload: bytes


@dataclass(frozen=True)
class Page:
    records: Sequence[Record]
    next_cursor: str


class Source:
    """A store of one run's records; cursors are positions."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.calls: list[tuple[str, str, int]] = []

    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        self.calls.append((run_id, cursor, limit))
        start = int(cursor or "0")
        end = start + limit
        return Page(self.records[start:end], str(end) if end < len(self.records) else "")


class RunNotFound(Exception):
    """Stands for the store's own error."""


class EmptyStore:
    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        raise RunNotFound


def records_of(line: dict[str, Any]) -> list[Record]:
    return [Record(record["type"], exact(record, "payload") or b"") for record in line["records"]]


@pytest.mark.parametrize("line", REPLAYS, ids=[line["name"] for line in REPLAYS])
async def test_replays_like_the_reference(line: dict[str, Any]) -> None:
    records = records_of(line)
    if "replay_error" in line or line["gate_refuses"]:
        with pytest.raises(ReplayError):
            replay_run_log_events(records)
        return
    replay = replay_run_log_events(records)
    assert replay.found is line["replay_found"]
    assert len(replay.messages) == line["replay_count"]
    if replay.messages:
        assert encode_messages(replay.messages) == exact(line, "replay_messages")
    if "build_error" in line:
        with pytest.raises(ReplayError):
            await build_messages_from_run_log(Source(records), "run-1")
    else:
        built = await build_messages_from_run_log(Source(records), "run-1")
        assert built == replay.messages


@pytest.mark.parametrize("line", REPLAYS, ids=[line["name"] for line in REPLAYS])
def test_assistant_turns_are_those_of_the_reference(line: dict[str, Any]) -> None:
    if "assistant_turn_keys" not in line:
        assert "replay_error" in line
        return
    keys = [
        f"{golden['key']}/assistant/{index}"
        for golden, record in zip(line["records"], records_of(line), strict=True)
        if record.type == "transcript_messages_appended"
        for index, _ in assistant_turns(decode_messages(record.payload))
    ]
    assert keys == line["assistant_turn_keys"]


async def test_a_run_is_read_in_pages_of_512_until_the_cursor_is_empty() -> None:
    (line,) = [line for line in LINES if line["name"] == "build_three_pages"]
    pages = {
        "": Page(
            [Record("transcript_messages_seeded", b'[{"role":"user","parts":[{"kind":"text","text":"1"}]}]')],
            "c1",
        ),
        "c1": Page([Record("usage", b"{}")], "c2"),
        "c2": Page(
            [
                Record(
                    "transcript_messages_appended",
                    b'[{"role":"assistant","parts":[{"kind":"text","text":"2"}]}]',
                )
            ],
            "",
        ),
    }
    calls: list[str] = []

    class Pages:
        async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
            calls.append(f"{run_id}|{cursor}|{limit}")
            return pages[cursor]

    messages = await build_messages_from_run_log(Pages(), line["run_id"])
    assert encode_messages(messages) == exact(line, "build_messages")
    assert calls == line["list_calls"]


@pytest.mark.case("C310")
async def test_a_run_without_transcript_records_is_not_found() -> None:
    records = [Record("run_started", b"{}"), Record("Transcript_Messages_Seeded", b"[]")]
    assert replay_run_log_events(records) == ((), False)
    with pytest.raises(ReplayError) as refusal:
        await build_messages_from_run_log(Source(records), "run")
    assert refusal.value.code == "transcript.not_found"


@pytest.mark.case("C311")
async def test_a_malformed_payload_is_an_error_without_a_partial_result() -> None:
    records = [
        Record("transcript_messages_seeded", b'[{"role":"user"}]'),
        Record("transcript_messages_appended", b'[{"Role":"user"}]'),
    ]
    with pytest.raises(ReplayError) as refusal:
        replay_run_log_events(records)
    assert refusal.value.code == "transcript.unknown_field"
    with pytest.raises(ReplayError) as refusal:
        await build_messages_from_run_log(Source(records), "run")
    assert refusal.value.code == "transcript.unknown_field"


@pytest.mark.case("C313")
async def test_a_source_and_a_run_id_are_required_and_the_source_s_error_surfaces() -> None:
    with pytest.raises(ReplayError) as refusal:
        await build_messages_from_run_log(None, "run")
    assert refusal.value.code == "transcript.source_required"
    source = Source([])
    with pytest.raises(ReplayError) as refusal:
        await build_messages_from_run_log(source, "")
    assert refusal.value.code == "transcript.run_id_required"
    assert source.calls == []
    with pytest.raises(RunNotFound):
        await build_messages_from_run_log(EmptyStore(), "run")


@pytest.mark.case("C314")
@pytest.mark.parametrize("payload", [b"[]", b"null", b" [ ] "])
async def test_an_empty_transcript_record_counts_as_found(payload: bytes) -> None:
    records = [Record("transcript_messages_seeded", payload)]
    assert replay_run_log_events(records) == ((), True)
    assert await build_messages_from_run_log(Source(records), "run") == ()


def test_absent_events_are_passed_over() -> None:
    record = Record("transcript_messages_seeded", b'[{"role":"user"},null]')
    assert replay_run_log_events([None, record, None]) == ((Message("user"), None), True)


def test_the_text_of_a_turn_leaves_thinking_out() -> None:
    spoken = Message("assistant", (ThinkingPart("hm"), TextPart("a"), CitationsPart("b")))
    silent = Message("assistant", (ThinkingPart("hm"),))
    assert list(assistant_turns([silent, None, Message("user", (TextPart("q"),)), spoken])) == [(3, "ab")]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["transcript_messages_seeded", "transcript_messages_appended", "usage"]),
        st.lists(st.none() | MESSAGES, max_size=3),
    ),
    max_size=6,
)


@given(events=EVENTS)
def test_replay_equals_what_was_recorded(events: list[tuple[str, list[Message | None]]]) -> None:
    records = [Record(kind, encode_messages(messages)) for kind, messages in events]
    expected = [message for kind, messages in events if kind != "usage" for message in messages]
    replay = replay_run_log_events(records)
    assert list(replay.messages) == expected
    assert replay.found is any(kind != "usage" for kind, _ in events)


@given(events=EVENTS, padding=st.sampled_from([0, 511, 512, 513, 1024]))
async def test_reading_in_pages_changes_nothing(
    events: list[tuple[str, list[Message | None]]], padding: int
) -> None:
    records = [Record("usage", b"{}")] * padding
    records += [Record(kind, encode_messages(messages)) for kind, messages in events]
    replay = replay_run_log_events(records)
    source = Source(records)
    if replay.found:
        assert await build_messages_from_run_log(source, "run") == replay.messages
    else:
        with pytest.raises(ReplayError):
            await build_messages_from_run_log(source, "run")
    assert [call[2] for call in source.calls] == [512] * max(1, -(-len(records) // 512))
