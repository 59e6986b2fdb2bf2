"""Telling the bus and the stream about a record that is stored (contract 8, Delivery; contract 10)."""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from runlane.client.recovery.patience import Patience
from runlane.client.recovery.ports import Bus
from runlane.contract.errors import InvalidCommand, InvalidResult
from runlane.contract.stream import Stream, may_stream, stream_events
from runlane.contract.values import CommittedRecord, RunRecord, SessionStatus

LOG: Final = logging.getLogger("runlane.client")


async def publish(bus: Bus | None, record: RunRecord) -> None:
    """Tell the bus; its failure is logged, without its text, and stops nothing."""
    if bus is None:
        return
    try:
        await bus.publish(record)
    except Exception as error:  # noqa: BLE001 - whatever a listener raises, the record is stored
        LOG.warning(
            "the bus failed with %s on record %s of run %s",
            type(error).__name__,
            record.event_key,
            record.run_id,
        )


def stream_duty(session_id: str, status: SessionStatus, stream: Stream | None) -> Stream | None:
    """Return where the events of a write with this session status must go; None for nowhere.

    Only an active session has the duty, and then ``InvalidCommand`` without a stream (C382).
    ``InvalidResult`` for a status that the run cannot have.
    """
    if status not in set(SessionStatus) or (status == SessionStatus.NONE) is bool(session_id):
        raise InvalidResult("the session status does not fit the run", code="session_status")
    if not may_stream(status):
        return None
    if stream is None:
        raise InvalidCommand("the session is active, so a stream is needed", code="stream_required")
    return stream


async def redeliver(stream: Stream, record: CommittedRecord | RunRecord, patience: Patience) -> None:
    """Send the events of a stored record, each until the sink has it; nothing is written again."""
    for event in stream_events(record, stream.profile):
        await patience.with_retries(partial(stream.sink.send, event))
