"""A stream event, and its JSON on the topic (contract 8)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, cast

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads.text import dump
from runlane.contract.stream.types import StreamType
from runlane.contract.times import to_utc


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
    members = _members(data)
    names = ("type", "run_id", "session_id", "event_key", "occurred_at")
    texts = {name: _text(members.get(name, b"null")) for name in names}
    payload = members.get("payload", b"")
    if not payload.startswith(b"{"):
        raise InvalidCommand("a stream event's payload is an object", code="stream_payload")
    kind = next((known for known in StreamType if known == texts["type"]), None)
    if kind is None:
        raise InvalidCommand("the type of a stream event is unknown", code="unknown_stream_type")
    return StreamEvent(
        kind,
        texts["run_id"],
        texts["session_id"],
        texts["event_key"],
        _time(texts["occurred_at"]),
        payload,
        members.get("server_data"),
    )


def _time_text(instant: datetime) -> str:
    return to_utc(instant).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is not UTC:
        raise InvalidCommand("the time of a stream event is not an instant in UTC", code="stream_time")
    return time


def _text(raw: bytes) -> str:
    value = json.loads(raw)
    if not isinstance(value, str):
        raise InvalidCommand("a member of a stream event is not text", code="stream_member")
    return value


_skip: Final = json.JSONDecoder().raw_decode
_blank: Final = re.compile(r"[ \t\n\r]*").match


def _members(data: bytes) -> dict[str, bytes]:
    """Return the members of a JSON object as the bytes they are spelled in."""
    rule = ""
    try:
        if not isinstance(strictjson.loads(data, max_bytes=len(data)), dict):
            rule = "stream_event"
    except strictjson.StrictJsonError as refused:
        rule = refused.rule
    if rule:  # raised here, so that the text does not hang on the error as its context
        raise InvalidCommand("not the JSON object of a stream event", code=rule)
    text = data.decode()
    found: dict[str, bytes] = {}
    at = _after_blank(text, _after_blank(text, 0) + 1)
    while text[at] != "}":
        key, end = _skip(text, at)
        start = _after_blank(text, _after_blank(text, end) + 1)
        _, end = _skip(text, start)
        found[cast("str", key)] = text[start:end].encode()
        at = _after_blank(text, end)
        if text[at] == ",":
            at = _after_blank(text, at + 1)
    return found


def _after_blank(text: str, at: int) -> int:
    found = _blank(text, at)
    return found.end() if found else at
