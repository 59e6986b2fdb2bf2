"""Memory events: typed data, JSON, snapshots, and what records leave (cases of section memory)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.client import MemoryStore
from runlane.contract.errors import InvalidCommand
from runlane.contract.memory import (
    AssistantMessageData,
    MemoryEvent,
    MemorySnapshot,
    MemoryType,
    MemoryValue,
    PlannerNoteData,
    ThinkingData,
    ToolCallData,
    ToolResultData,
    UserMessageData,
    decode_event,
    decode_snapshot,
    encode_data,
    encode_event,
    encode_snapshot,
    memory_event,
    memory_events,
    read_data,
)
from runlane.contract.payloads import (
    PlannerNote,
    ToolBounds,
    ToolCallScheduled,
    ToolError,
    ToolFailure,
    ToolResultReceived,
    encode_hook,
    hook_record,
)
from tests.stream.records import T0, committed

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
INTS = st.integers(-(2**63), 2**63 - 1)
DATA = st.one_of(
    st.builds(UserMessageData, TEXT, st.none() | st.lists(st.integers() | TEXT)),
    st.builds(AssistantMessageData, TEXT, st.none() | st.dictionaries(TEXT, st.integers())),
    st.builds(ToolCallData, TEXT, TEXT, TEXT, TEXT, TEXT, INTS),
    st.builds(ToolResultData, TEXT, TEXT, TEXT, TEXT, st.none() | st.just(ToolBounds()), INTS, TEXT),
    st.builds(PlannerNoteData, TEXT),
    st.builds(ThinkingData, TEXT, TEXT, st.binary(), INTS, st.booleans()),
)


@given(DATA, st.none() | st.dictionaries(TEXT, TEXT))
def test_data_is_read_back_as_it_was(data: ToolCallData, labels: dict[str, str] | None) -> None:
    event = decode_event(encode_event(data.event(T0, labels)))
    assert read_data(event, type(data)) == data
    assert (event.timestamp, event.labels) == (T0, labels)


@given(st.lists(st.tuples(DATA, st.datetimes(timezones=st.just(UTC))), max_size=4))
def test_a_snapshot_is_read_back_as_it_was(given_events: list[tuple[ToolCallData, datetime]]) -> None:
    events = tuple(data.event(time) for data, time in given_events)
    decoded = decode_snapshot(encode_snapshot(MemorySnapshot("a", "r", events, {"n": 2**70})))
    assert (decoded.agent_id, decoded.run_id, decoded.meta) == ("a", "r", {"n": 2**70})
    read = [
        (read_data(event, type(data)), event.timestamp)
        for event, (data, _) in zip(decoded.events, given_events, strict=True)
    ]
    assert read == given_events


def test_data_as_deep_as_the_gate_allows_survives_its_envelope() -> None:
    deep = "[" * 63 + "]" * 63
    event = memory_event(committed("assistant_message", f'{{"Message":"m","Structured":{deep}}}'))
    assert event is not None
    assert decode_event(encode_event(event)) == event
    snapshot = MemorySnapshot("a", "r", (event,), {"deep": json.loads(deep)})
    assert decode_snapshot(encode_snapshot(snapshot)) == snapshot


@pytest.mark.case("C373")
@pytest.mark.parametrize("redacted", [b"\xff\xfe", "//4="])
def test_redacted_thinking_may_be_raw_or_base64(redacted: bytes | str) -> None:
    event = MemoryEvent(MemoryType.THINKING, T0, {"redacted": redacted})
    assert read_data(event, ThinkingData).redacted == b"\xff\xfe"
    assert read_data(decode_event(encode_event(event)), ThinkingData).redacted == b"\xff\xfe"


@pytest.mark.case("C374")
def test_an_older_map_of_arguments_becomes_json() -> None:
    payload: MemoryValue = {"b": 2**70, "a": [1, None]}
    event = MemoryEvent(MemoryType.TOOL_CALL, T0, {"tool_call_id": "c", "tool_name": "t", "payload": payload})
    typed = read_data(event, ToolCallData)
    assert typed.payload == f'{{"a":[1,null],"b":{2**70}}}'
    assert typed.input() == payload


@pytest.mark.parametrize(
    ("kind", "data", "code"),
    [
        (ToolCallData, {"tool_name": "n"}, "memory_wrong_type"),
        (ToolResultData, {"tool_call_id": "c", "tool_name": None}, "memory_wrong_type"),
        (PlannerNoteData, {}, "memory_wrong_type"),
        (ThinkingData, {"content_index": 1.0}, "memory_wrong_type"),
        (ThinkingData, {"content_index": True}, "memory_wrong_type"),
        (ThinkingData, {"content_index": 2**63}, "memory_wrong_type"),
        (ThinkingData, {"redacted": 1}, "memory_wrong_type"),
        (ThinkingData, {"redacted": "é"}, "memory_not_base64"),
        (ToolResultData, {"tool_call_id": "c", "tool_name": "n", "bounds": []}, "memory_wrong_type"),
        (UserMessageData, {"structured": b"raw"}, "memory_wrong_type"),
    ],
)
def test_a_member_of_a_wrong_type_is_refused(
    kind: type[ToolCallData], data: dict[str, MemoryValue], code: str
) -> None:
    with pytest.raises(InvalidCommand) as refused:
        read_data(MemoryEvent(kind.type, T0, data), kind)
    assert refused.value.code == code


def test_absent_and_null_members_are_alike_and_empty_ones_are_not_written() -> None:
    event = MemoryEvent(MemoryType.THINKING, T0, {"text": None, "final": None, "content_index": None})
    assert read_data(event, ThinkingData) == ThinkingData()
    assert encode_data(ThinkingData().members()) == b'{"content_index":0,"final":false}'
    assert encode_data(AssistantMessageData(structured=False).members()) == b'{"structured":false}'
    call = ToolCallData("", "")
    assert encode_data(call.members()) == b'{"tool_call_id":"","tool_name":""}'
    assert call.input() is None


def test_a_result_and_an_error_may_coexist() -> None:
    both = ToolResultData("c", "t", result_json="{}", error_message="half done")
    assert read_data(both.event(T0), ToolResultData) == both


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"{", "json.syntax"),
        (b"null", "json.syntax"),
        (b'{"Type":"nope","Timestamp":"2025-08-24T01:46:40Z","Data":{}}', "memory_event"),
        (b'{"Type":"planner_note","Timestamp":"2025-08-24T01:46:40Z"}', "memory_data_required"),
        (b'{"Type":"planner_note","Timestamp":"2025-08-24T01:46:40Z","Data":null}', "memory_data_required"),
        (b'{"Type":"planner_note","Timestamp":"2025-08-24T01:46:40","Data":{}}', "memory_time"),
        (b'{"Type":"planner_note","Timestamp":"yesterday","Data":{}}', "memory_time"),
        (
            b'{"Type":"thinking","Timestamp":"2025-08-24T01:46:40Z","Data":{},"Labels":{"a":1}}',
            "memory_event",
        ),
    ],
)
def test_what_is_no_event_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(InvalidCommand) as refused:
        decode_event(data)
    assert refused.value.code == code
    with pytest.raises(InvalidCommand):
        decode_snapshot(b'{"AgentID":"a","RunID":"r","Meta":{},"Events":[' + data + b"]}")


@pytest.mark.parametrize("data", [b"[]", b'{"AgentID":"a","RunID":"r","Events":[],"Meta":1}', b"{}"])
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidCommand):
        decode_snapshot(data)


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidCommand) as refused:
        encode_event(MemoryEvent(MemoryType.USER_MESSAGE, T0, {"structured": float("nan")}))
    assert refused.value.code == "json.not_finite"
    with pytest.raises(InvalidCommand) as refused:
        encode_event(PlannerNoteData("n").event(T0.replace(tzinfo=None)))
    assert refused.value.code == "time_without_zone"


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00Z"),
        (datetime(2026, 1, 1, 0, 0, 10, 500_000, tzinfo=UTC), "2026-01-01T00:00:10.5Z"),
        (datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), "2026-01-01T00:00:00.000001Z"),
    ],
)
def test_a_time_has_no_more_digits_than_it_needs(instant: datetime, text: str) -> None:
    encoded = encode_event(PlannerNoteData("n").event(instant))
    assert f'"Timestamp":"{text}"'.encode() in encoded
    assert decode_event(encoded).timestamp == instant


def test_a_snapshot_is_read_by_type_and_by_the_last_one_appended() -> None:
    notes = [PlannerNoteData(str(n)).event(T0 - timedelta(hours=n)) for n in range(3)]
    said = AssistantMessageData("hi").event(T0)
    snapshot = MemorySnapshot("a", "r", (notes[0], said, notes[1], notes[2]))
    assert snapshot.filter_by_type(MemoryType.PLANNER_NOTE) == tuple(notes)
    assert snapshot.latest(MemoryType.PLANNER_NOTE) == notes[2]
    assert snapshot.latest(MemoryType.TOOL_CALL) is None


def test_a_note_keeps_its_labels() -> None:
    record = committed("planner_note", encode_hook(PlannerNote(note="n", labels={"a": "b"})))
    event = memory_event(record)
    assert event is not None
    assert (event.labels, event.timestamp) == ({"a": "b"}, record.timestamp)


def test_a_tool_call_and_its_failure_are_remembered() -> None:
    call = ToolCallScheduled(
        tool_call_id="c",
        tool_name="t",
        payload=b'{"n": 1.50}',
        queue="q",
        parent_tool_call_id="p",
        expected_children_total=2,
    )
    answer = ToolResultReceived(
        call_run_id="r",
        tool_call_id="c",
        tool_name="t",
        result_preview="pre  view",
        bounds=ToolBounds(returned=1),
        duration=5,
        failure=ToolFailure(kind="timeout", error=ToolError(message="too late")),
    )
    records = [
        committed("tool_call_scheduled", encode_hook(call)),
        committed("usage", "{}"),
        committed("tool_result_received", encode_hook(answer)),
    ]
    first, second = memory_events(records)
    assert read_data(first, ToolCallData) == ToolCallData("c", "t", "p", '{"n":1.50}', "q", 2)
    assert read_data(second, ToolResultData) == ToolResultData(
        "c", "t", "", "pre  view", ToolBounds(returned=1), 5, "too late"
    )


async def test_the_records_of_a_live_run_become_memory(run_store: MemoryStore) -> None:
    async with run_store.run("run", "agent") as run:
        await run.append("planner_note", {"Note": "n"})
        await run.append("assistant_message", {"Message": "hi"})
    records = (await run_store.list_run_records("run")).records
    assert [event.type for event in memory_events(records)] == ["planner_note", "assistant_message"]


def test_a_record_needs_a_time() -> None:
    record = hook_record(PlannerNote(note="n"), event_key="k", run_id="r", agent_id="a")
    with pytest.raises(InvalidCommand) as refused:
        memory_event(record)
    assert refused.value.code == "time_required"
    assert memory_event(replace(record, timestamp=T0)) == PlannerNoteData("n").event(T0)
