"""JSON of memory events and snapshots (contract 9): members of the data sorted, numbers as spelled."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeVar, cast

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.memory.fields import free_text
from runlane.contract.memory.values import MemoryEvent, MemorySnapshot, MemoryType, MemoryValue
from runlane.contract.payloads import ToolBounds
from runlane.contract.payloads.text import dump
from runlane.contract.slices import items, members
from runlane.contract.times import parse_utc, time_fault, to_utc
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
    texts = (free_text(name) + ":" + _value_text(data[name]) for name in sorted(data))
    return ("{" + ",".join(texts) + "}").encode()


def decode_event(data: bytes) -> MemoryEvent:
    """Read what ``encode_event`` wrote; ``InvalidCommand`` for anything else."""
    found = _cut(members, data)
    name, time, labels = (_load(found.get(key)) for key in ("Type", "Timestamp", "Labels"))
    kind = next((known for known in MemoryType if known == name), None)
    if kind is None or not isinstance(time, str) or not isinstance(labels, dict | None):
        raise _not_an_event()
    if labels and not all(isinstance(label, str) for label in labels.values()):
        raise _not_an_event()
    return MemoryEvent(kind, _time(time), _data(found.get("Data")), cast("dict[str, str] | None", labels))


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
    found = _cut(members, data)
    agent, run = _load(found.get("AgentID")), _load(found.get("RunID"))
    meta, events = _load(found.get("Meta")), found.get("Events", b"")
    if not isinstance(agent, str) or not isinstance(run, str) or not isinstance(meta, dict):
        raise _not_an_event()
    return MemorySnapshot(agent, run, tuple(map(decode_event, _cut(items, events))), meta)


def _data(raw: bytes | None) -> dict[str, MemoryValue]:
    if raw is None or not raw.startswith(b"{"):
        raise InvalidCommand("a memory event needs data", code="memory_data_required")
    return {name: _load(value) for name, value in _cut(members, raw).items()}


_Pieces = TypeVar("_Pieces")


def _cut(cut: Callable[[bytes], _Pieces], data: bytes) -> _Pieces:
    rule = ""
    try:
        return cut(data)
    except StrictJsonError as refused:
        rule = refused.rule
    # Raised here, so that the text does not hang on the error as its context.
    raise InvalidCommand("not the JSON of a memory event", code=rule)


def _load(raw: bytes | None) -> JsonValue:
    return None if raw is None else _cut(lambda raw: strictjson.loads_exact(raw, max_bytes=len(raw)), raw)


def _value_text(value: MemoryValue) -> str:
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    return value.encode().decode() if isinstance(value, ToolBounds) else free_text(value)


def _time_text(instant: datetime) -> str:
    """Seconds with as many digits of a fraction as it has, in UTC."""
    if time_fault(instant):
        raise InvalidCommand("the time of a memory event is not a usable instant", code=time_fault(instant))
    text = to_utc(instant).replace(tzinfo=None).isoformat(timespec="microseconds")
    return text.rstrip("0").rstrip(".") + "Z"


def _time(text: str) -> datetime:
    time = parse_utc(text)
    if time is None:
        raise InvalidCommand("the time of a memory event is not an instant in UTC", code="memory_time")
    return time


def _not_an_event() -> InvalidCommand:
    return InvalidCommand("not a memory event", code="memory_event")
