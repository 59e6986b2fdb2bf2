"""A stream event as a Kafka message, the same whoever writes it (design, Topics)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from runlane.contract.ids import run_lane, session_lane
from runlane.contract.stream.events import StreamEvent, encode_event

STREAM_SCHEMA: Final = "runlane.stream_event.v1"
"""What the header ``schema`` says of a stream event."""


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """Key, body and headers of a message of the stream topic; the key is the event's lane."""

    key: bytes
    body: bytes
    headers: tuple[tuple[str, bytes], ...]


def stream_message(event: StreamEvent) -> StreamMessage:
    """Return the message of an event: all events of a session lie in one partition, in order."""
    lane = session_lane(event.session_id) if event.session_id else run_lane(event.run_id)
    return StreamMessage(lane.encode(), encode_event(event), (("schema", STREAM_SCHEMA.encode()),))
