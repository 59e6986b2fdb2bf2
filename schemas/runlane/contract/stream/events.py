"""A stream event, and its JSON on the topic (contract 8)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from runlane import strictjson
from runlane.contract import slices
from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads.text import dump
from runlane.contract.stream.types import StreamType
from runlane.contract.times import parse_utc, to_utc


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event for product UIs.

    ``event_key`` and ``occurred_at`` are the record's. ``payload`` is a JSON object as its exact bytes;
    ``server_data`` is what a tool sent for the host's eyes only: it stands beside the payload, so that a host
    can forward the payload as it is.
    """

    type: StreamType
    run_id: str
    session_id: str
    event_key: str
    occurred_at: datetime
    payload: bytes
    server_data: bytes | None = None

    @property
    def identity(self) -> tuple[str, str, str]:
        """What makes two deliveries the same event: run, type and key (contract 0)."""
        return self.run_id, self.type.value, self.event_key


def encode_event(event: StreamEvent) -> bytes:
    """Return the event as one JSON object, payload and server data with their exact bytes."""
    head = dump(
        {
            "type": event.type.value,
            "run_id": event.run_id,
            "session_id": event.session_id,
            "event_key": event.event_key,
            "occurred_at": _time_text(event.occurred_at),
        }
    )
    beside = b"" if event.server_data is None else b',"server_data":' + event.server_data
    return head[:-1] + b',"payload":' + event.payload + beside + b"}"


def decode_event(data: bytes) -> StreamEvent:
    """Read what ``encode_event`` wrote; members of later releases are ignored.

    ``InvalidCommand`` for anything else; its code names the rule, ``unknown_stream_type`` included.
    """
    found = _members(data)
    payload = found.get("payload", b"")
    if not payload.startswith(b"{"):
        raise InvalidCommand("a stream event's payload is an object", code="stream_payload")
    name = _text(found, "type")
    kind = next((known for known in StreamType if known == name), None)
    if kind is None:
        raise InvalidCommand("the type of a stream event is unknown", code="unknown_stream_type")
    return StreamEvent(
        kind,
        _text(found, "run_id"),
        _text(found, "session_id"),
        _text(found, "event_key"),
        _time(_text(found, "occurred_at")),
        payload,
        found.get("server_data"),
    )


def _members(data: bytes) -> dict[str, bytes]:
    """Return the members, each of which passes the gate."""
    rule, found = "", dict[str, bytes]()
    try:
        found = slices.members(data)
        for member in found.values():
            strictjson.check(member, max_bytes=len(member))
    except strictjson.StrictJsonError as refused:
        rule = refused.rule
    if rule:  # raised here, so that the text does not hang on the error as its context
        raise InvalidCommand("not the JSON object of a stream event", code=rule)
    return found


def _text(members: dict[str, bytes], name: str) -> str:
    value = strictjson.loads(members[name]) if name in members else None
    if not isinstance(value, str):
        raise InvalidCommand(f"{name} of a stream event is not text", code="stream_member")
    return value


def _time_text(instant: datetime) -> str:
    return to_utc(instant).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _time(text: str) -> datetime:
    time = parse_utc(text)
    if time is None:
        raise InvalidCommand("the time of a stream event is not an instant in UTC", code="stream_time")
    return time
