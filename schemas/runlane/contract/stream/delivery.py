"""Handing the events of a written record to a sink (contract 8, Delivery)."""

from __future__ import annotations

from typing import Protocol

from runlane.contract.errors import InvalidCommand
from runlane.contract.stream.events import StreamEvent
from runlane.contract.stream.mapping import StreamSource, stream_events
from runlane.contract.stream.types import DEFAULT, Profile
from runlane.contract.values import SessionStatus


class StreamSink(Protocol):
    """Where stream events go; ``await sink.send(event)``.

    It gets an event again when a write is repeated, so readers tell events apart by ``identity``. It raises a
    ``TemporaryError`` for a failure that may pass.
    """

    async def send(self, event: StreamEvent) -> None:
        """Take one event; returns once it is safe."""
        ...


class Stream:
    """A sink with the profile of what it is given: ``await Stream(sink).deliver(record, status)``."""

    def __init__(self, sink: StreamSink | None, profile: Profile = DEFAULT) -> None:
        if sink is None:
            raise InvalidCommand("a stream needs a sink", code="sink_required")
        self.sink = sink
        self.profile = profile

    async def deliver(self, record: StreamSource, status: SessionStatus) -> None:
        """Send the events of a record that was written, or found again, with this session status.

        Sends nothing unless ``may_stream``. What the sink raises passes through: the write stands, and its
        exact retry delivers the same events again (C362). ``InvalidCommand`` for a payload without mapping.
        """
        if may_stream(status):
            for event in stream_events(record, self.profile):
                await self.sink.send(event)


def may_stream(status: SessionStatus) -> bool:
    """Whether a write with this session status reaches the stream: only in an active session (C361)."""
    return status is SessionStatus.ACTIVE
