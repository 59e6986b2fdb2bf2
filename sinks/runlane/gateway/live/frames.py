"""Server-sent events as bytes (the browser's own format: fields by line, an empty line ends an event).

A record is written once, however many viewers it goes to; only its ``id:`` differs between a run's stream and
its session's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from runlane.contract.delta import Delta
from runlane.contract.http_models import RecordBody
from runlane.contract.payloads.types import LANE_EVENT_TYPES, RUN_COMPLETED, RUN_SUSPENDED
from runlane.contract.values import CommittedRecord, SessionStatus

RETRY: Final = b"retry: 1000\n\n"
HEARTBEAT: Final = b": still here\n\n"
END: Final = b"event: end\ndata: {}\n\n"
LAGGED: Final = b"event: lagged\ndata: {}\n\n"
PURGED: Final = b"event: purged\ndata: {}\n\n"
SYNC: Final = b"event: sync\ndata: {}\n\n"
_LAST_TYPES: Final = frozenset({RUN_COMPLETED, RUN_SUSPENDED})
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """Return an event without an id."""
    return f"event: {name}\ndata: {_ENCODE(data)}\n\n".encode()


def head(number: int, status: str) -> bytes:
    """Return the first event of a stream: how far the history reaches, and the run's or session's state."""
    return event("head", {"head": number, "status": status})


def gone(session_id: str) -> bytes:
    """Return the event of the runs list for a session that was purged, and its runs with it."""
    return event("gone", {"session_id": session_id})


def delta(piece: Delta) -> bytes:
    """Return text that is being written; it has no id, since no reconnect brings it back."""
    return event(
        "delta",
        {
            "run_id": piece.run_id,
            "tool_call_id": piece.tool_call_id,
            "stream": piece.stream,
            "text": piece.text,
        },
    )


class RecordFrame:
    """A committed record on its way to viewers. ``lane_event`` is never shown but takes a ``lane_seq``."""

    __slots__ = (
        "_body",
        "ends_run",
        "lane_event",
        "lane_seq",
        "may_end_session",
        "run_id",
        "seq",
        "size",
        "type",
    )

    def __init__(self, record: CommittedRecord) -> None:
        self.run_id = record.run_id
        self.seq = record.seq
        self.lane_seq = record.lane_seq
        self.type = record.type
        self.lane_event = not record.run_id and record.type in LANE_EVENT_TYPES
        self.ends_run = record.type in _LAST_TYPES
        self.may_end_session = record.session_status is SessionStatus.ENDED and (
            self.lane_event or self.ends_run
        )
        self._body = b"" if self.lane_event else b"event: record\ndata: " + _record_json(record) + b"\n\n"
        self.size = len(self._body)

    def of_run(self) -> bytes:
        """Return the event of a run's stream: its id is the record's ``seq``."""
        return b"id: %d\n%b" % (self.seq, self._body)

    def of_session(self) -> bytes:
        """Return the event of a session's stream, whose id is ``lane_seq``; nothing for a lane event."""
        return b"" if self.lane_event else b"id: %d\n%b" % (self.lane_seq, self._body)


def _record_json(record: CommittedRecord) -> bytes:
    return RecordBody.of(record).model_dump_json().encode()
