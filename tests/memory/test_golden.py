"""The reference's memory events, line by line (golden memory)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runlane.client import MemoryEvents
from runlane.contract.errors import InvalidCommand
from runlane.contract.memory import (
    AssistantMessageData,
    MemoryData,
    MemoryEvent,
    MemoryType,
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
    read_data,
)
from runlane.strictjson import loads_exact
from runlane.transcript.canonical import value_text
from tests.stream.records import committed

GOLDEN = Path(__file__).parents[1] / "golden" / "memory.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
T0 = datetime(2025, 8, 24, 1, 46, 40, 123_000, tzinfo=UTC)
KINDS: dict[str, type[MemoryData]] = {
    kind.type: kind
    for kind in (
        AssistantMessageData,
        PlannerNoteData,
        ThinkingData,
        ToolCallData,
        ToolResultData,
        UserMessageData,
    )
}


def lines(op: str) -> list[Any]:
    return [pytest.param(line, id=line["name"]) for line in LINES if line["op"] == op]


def event_of(line: dict[str, Any]) -> MemoryEvent:
    data = loads_exact(line["data"].encode())
    assert isinstance(data, dict)
    return MemoryEvent(MemoryType(line["type"]), T0, {**data})


@pytest.mark.parametrize("line", lines("encode"))
def test_what_the_reference_writes_is_read_and_written_alike(line: dict[str, Any]) -> None:
    typed = read_data(event_of(line), KINDS[line["type"]])
    assert encode_event(typed.event(T0)).decode() == line["event"]
    assert encode_data(typed.members()).decode() == line["redata"]
    assert read_data(decode_event(line["event"].encode()), KINDS[line["type"]]) == typed


@pytest.mark.parametrize("line", lines("decode"))
def test_data_is_judged_and_read_as_the_reference_does(line: dict[str, Any]) -> None:
    if line["outcome"] == "rejected":
        with pytest.raises(InvalidCommand):
            read_data(event_of(line), KINDS[line["type"]])
        return
    typed = read_data(event_of(line), KINDS[line["type"]])
    assert encode_data(typed.members()).decode() == line["redata"]
    if "input_error" in line:
        assert isinstance(typed, ToolCallData)
        with pytest.raises(InvalidCommand):
            typed.input()
    elif "input" in line:
        assert isinstance(typed, ToolCallData)
        assert value_text(typed.input(), "") == line["input"]


@pytest.mark.parametrize("line", lines("decode_wrong_type"))
def test_data_of_another_type_is_refused(line: dict[str, Any]) -> None:
    event = PlannerNoteData("n").event(T0)
    assert event.type == line["event_type"]
    with pytest.raises(InvalidCommand) as refused:
        read_data(event, KINDS[line["want"]])
    assert refused.value.code == "memory_other_type"


@pytest.mark.parametrize("line", lines("load"))
async def test_a_snapshot_is_that_of_the_reference(line: dict[str, Any]) -> None:
    assert line["name"] == "store_two"
    memory = MemoryEvents()
    first = PlannerNoteData("1").event(T0)
    second = PlannerNoteData("2").event(T0 - timedelta(hours=1))
    await memory.append_events("a", "r", [first, second])
    snapshot = await memory.load_run("a", "r")
    assert encode_snapshot(snapshot).decode() == line["snapshot"]
    assert decode_snapshot(line["snapshot"].encode()) == snapshot


@pytest.mark.parametrize("line", lines("hook_to_memory"))
def test_a_record_leaves_in_memory_what_the_reference_writes(line: dict[str, Any]) -> None:
    event = memory_event(committed(line["record_type"], line["payload"]))
    assert (None if event is None else encode_event(event).decode()) == line["written"]


def test_every_line_is_run() -> None:
    ops = {"encode", "decode", "decode_wrong_type", "load", "hook_to_memory"}
    assert {line["op"] for line in LINES} == ops
    assert len({line["name"] for line in LINES}) == len(LINES)
