"""Stream events: what product UIs follow, derived from committed records (contract 8).

    for event in stream_events(record, USER_CHAT):
        socket.send(encode_event(event))

Pure. ``Stream`` hands the events of a write to a sink, which its user implements.
"""

from runlane.contract.stream.delivery import Stream, StreamSink, may_stream
from runlane.contract.stream.events import StreamEvent, decode_event, encode_event
from runlane.contract.stream.mapping import StreamSource, stream_events
from runlane.contract.stream.messages import STREAM_SCHEMA, stream_message
from runlane.contract.stream.types import (
    AGENT_DEBUG,
    DEFAULT,
    METRICS,
    PROFILES,
    USER_CHAT,
    Profile,
    StreamType,
)

__all__ = [
    "AGENT_DEBUG",
    "DEFAULT",
    "METRICS",
    "PROFILES",
    "STREAM_SCHEMA",
    "USER_CHAT",
    "Profile",
    "Stream",
    "StreamEvent",
    "StreamSink",
    "StreamSource",
    "StreamType",
    "decode_event",
    "encode_event",
    "may_stream",
    "stream_events",
    "stream_message",
]
