"""JSON of memory events and snapshots (contract 9): members of the data sorted, numbers as spelled."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.memory.fields import free_text
from runlane.contract.memory.values import MemoryEvent, MemorySnapshot, MemoryType, MemoryValue
from runlane.contract.payloads import ToolBounds
from runlane.contract.payloads.text import dump
from runlane.contract.times import time_fault, to_utc
from runlane.strictjson import JsonValue, StrictJsonError


def encode_event(event: MemoryEvent) -> bytes:
    """Return an event as JSON; ``InvalidCommand`` for data that JSON can't hold, or a time without a zone."""
    labels = None if event.labels is None else {key: event.labels[key] for key in sorted(event.labels)}
    return (
        b'{"Type":'
        + dump(event.type.value)
        + b',"Timestamp":'
        + dump(_time_text(event.timestamp))
        + b',"Data":'
        + encode_data(event.data)
        + b',"Labels":'
        + dump(labels)
        + b"}"
    )


def encode_data(data: Mapping[str, MemoryValue]) -> bytes:
    """Return the members of an event's data as one JSON object, raw bytes in base64; ``InvalidCommand``."""
    members = (free_text(name) + ":" + _value_text(data[name]) for name in sorted(data))
    return ("{" + ",".join(members) + "}").encode()


def decode_event(data: bytes) -> MemoryEvent:
    """Read what ``encode_event`` wrote; ``InvalidCommand`` for anything else."""
    return _event(_load(data))


def encode_snapshot(snapshot: MemorySnapshot) -> bytes:
    """Return a snapshot as JSON; ``InvalidCommand`` as of ``encode_event``."""
    return (
        b'{"AgentID":'
        + dump(snapshot.agent_id)
        + b',"RunID":'
        + dump(snapshot.run_id)
        + b',"Events":['
        + b",".join(map(encode_event, snapshot.events))
        + b'],"Meta":'
        + free_text(dict(snapshot.meta)).encode()
        + b"}"
    )


def decode_snapshot(data: bytes) -> MemorySnapshot:
    """Read what ``encode_snapshot`` wrote; ``InvalidCommand`` for anything else."""
    value = _load(data)
    members = value if isinstance(value, dict) else {}
    agent, run, events, meta = (members.get(name) for name in ("AgentID", "RunID", "Events", "Meta"))
    if not isinstance(agent, str) or not isinstance(run, str) or not isinstance(events, list):
        raise _not_an_event()
    if not isinstance(meta, dict):
        raise _not_an_event()
    return MemorySnapshot(agent, run, tuple(map(_event, events)), meta)


def _event(value: JsonValue) -> MemoryEvent:
    members = value if isinstance(value, dict) else {}
    kind = next((known for known in MemoryType if known == members.get("Type")), None)
    time, data, labels = members.get("Timestamp"), members.get("Data"), members.get("Labels")
    if kind is None or not isinstance(time, str) or not isinstance(labels, dict | None):
        raise _not_an_event()
    if not isinstance(data, dict):
        raise InvalidCommand("a memory event needs data", code="memory_data_required")
    if labels and not all(isinstance(label, str) for label in labels.values()):
        raise _not_an_event()
    return MemoryEvent(kind, _time(time), {**data}, cast("dict[str, str] | None", labels))


def _value_text(value: MemoryValue) -> str:
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    return value.encode().decode() if isinstance(value, ToolBounds) else free_text(value)


def _load(data: bytes) -> JsonValue:
    rule = ""
    try:
        return strictjson.loads_exact(data, max_bytes=len(data))
    except StrictJsonError as refused:
        rule = refused.rule
    raise InvalidCommand("not the JSON of a memory event", code=rule)


def _time_text(instant: datetime) -> str:
    """Seconds with as many digits of a fraction as it has, in UTC."""
    if time_fault(instant):
        raise InvalidCommand("the time of a memory event is not a usable instant", code=time_fault(instant))
    text = to_utc(instant).replace(tzinfo=None).isoformat(timespec="microseconds")
    return text.rstrip("0").rstrip(".") + "Z"


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is not UTC:
        raise InvalidCommand("the time of a memory event is not an instant in UTC", code="memory_time")
    return time


def _not_an_event() -> InvalidCommand:
    return InvalidCommand("not a memory event", code="memory_event")
