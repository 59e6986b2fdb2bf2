"""A stream event as a Kafka message, the same whoever writes it (design, Topics)."""

from __future__ import annotations

from typing import Final

from runlane.contract.ids import run_lane, session_lane
from runlane.contract.stream.events import StreamEvent, encode_event
from runlane.contract.topics import TopicMessage

STREAM_SCHEMA: Final = "runlane.stream_event.v1"
"""What the header ``schema`` says of a stream event."""


def stream_message(event: StreamEvent) -> TopicMessage:
    """Return the message of an event, its lane the key: a session lies in one partition, in order."""
    lane = session_lane(event.session_id) if event.session_id else run_lane(event.run_id)
    return TopicMessage(lane.encode(), encode_event(event), (("schema", STREAM_SCHEMA.encode()),))
