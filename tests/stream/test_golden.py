"""The reference's stream events, line by line (golden stream)."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.stream import (
    AGENT_DEBUG,
    METRICS,
    USER_CHAT,
    Profile,
    StreamEvent,
    StreamType,
    decode_event,
    encode_event,
    stream_events,
)
from runlane.contract.values import CommittedRecord
from tests.stream.records import committed

GOLDEN = Path(__file__).parents[1] / "golden" / "stream.jsonl"
LINES: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
RECORDS = [line for line in LINES if "record_type" in line]

# Of a type that is [older] and not built: its record has no event with us (contract 1.8).
OLDER_TYPE = "tool_call_args_delta"
PROFILES = {
    "agent_debug": AGENT_DEBUG,
    "metrics": METRICS,
    "user_chat": USER_CHAT,
    "none": Profile(frozenset()),
}
SWITCHES = {
    "Thoughts": StreamType.PLANNER_THOUGHT,
    "ToolUpdate": StreamType.TOOL_UPDATE,
    "AwaitClarification": StreamType.AWAIT_CLARIFICATION,
    "AwaitExternalTools": StreamType.AWAIT_EXTERNAL_TOOLS,
    "Workflow": StreamType.WORKFLOW,
}


def by_name(lines: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(line, id=line["name"]) for line in lines]


def record_of(line: dict[str, Any]) -> CommittedRecord:
    session = "" if line["name"].startswith("sessionless") else "sess-1"
    return committed(line["record_type"], line["payload"], session=session)


@pytest.mark.parametrize("line", by_name(RECORDS))
def test_a_record_has_the_events_of_the_reference(line: dict[str, Any]) -> None:
    if line["error"]:
        with pytest.raises(InvalidCommand):
            stream_events(record_of(line))
        return
    expected = [
        (
            event["type"],
            event["run_id"],
            event["session_id"],
            event.get("ours_event_key", event["event_key"]),
            event["payload"],
        )
        for event in line["events"]
        if event["type"] != OLDER_TYPE
    ]
    events = stream_events(record_of(line))
    assert [
        (event.type, event.run_id, event.session_id, event.event_key, event.payload.decode())
        for event in events
    ] == expected


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("line", by_name(RECORDS))
def test_a_profile_lets_through_what_the_reference_does(line: dict[str, Any], profile: str) -> None:
    golden = line["profiles"][profile]
    if golden["error"]:
        with pytest.raises(InvalidCommand):
            stream_events(record_of(line), PROFILES[profile])
        return
    types = [event.type for event in stream_events(record_of(line), PROFILES[profile])]
    assert types == [name for name in golden["types"] if name != OLDER_TYPE]


@pytest.mark.parametrize("line", by_name([line for line in LINES if line.get("op") == "profile"]))
def test_a_switched_off_type_is_missing(line: dict[str, Any]) -> None:
    assert line["mode"] == "without"
    assert AGENT_DEBUG.without(SWITCHES[line["switch"]]).types == set(line["types"]) - {OLDER_TYPE}


def test_every_line_is_run() -> None:
    """Lines of a failing sink stand in test_delivery."""
    ops = {line.get("op", "record" if "record_type" in line else "") for line in LINES}
    assert ops == {"record", "profile", "sink_failure"}
    assert len({line["name"] for line in LINES}) == len(LINES)


STORED = [
    line
    for line in map(json.loads, (GOLDEN.parent / "records.jsonl").read_text(encoding="utf-8").splitlines())
    if "payload" in line and line.get("outcome", "accepted") == "accepted" and not line.get("gate_refuses")
]


@pytest.mark.parametrize("line", by_name(STORED))
def test_what_a_stored_payload_maps_to_is_json(line: dict[str, Any]) -> None:
    events: tuple[StreamEvent, ...] = ()
    with contextlib.suppress(InvalidCommand):  # lenient types are stored whatever their shape
        events = stream_events(committed(line["type"], line["payload"]))
    for event in events:
        assert isinstance(strictjson.loads(event.payload), dict)
        assert decode_event(encode_event(event)) == event
