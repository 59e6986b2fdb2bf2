"""From rows of the journal back to the contract's values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from runlane.contract.errors import JournalFault
from runlane.contract.ids import lane_session
from runlane.contract.state import RunState, SessionState
from runlane.contract.times import EPOCH
from runlane.contract.values import CommittedRecord, RunStatus, Session, SessionStatus, StartOutcome
from runlane.store.engine import ClientPool
from runlane.store.sql import names, slices

RECORD_COLUMNS: Final[tuple[str, ...]] = (
    "lane",
    "lane_seq",
    "seq",
    "run_id",
    "agent_id",
    "session_id",
    "turn_id",
    "event_key",
    "type",
    "body",
    "at",
    "time",
    "status",
    "partition",
    "block",
)
"""What ``record_of`` needs of a row; ``body`` as bytes."""
STATE_COLUMNS: Final[tuple[str, ...]] = (
    "kind",
    "lane",
    "run_id",
    "session_id",
    "agent_id",
    "parent_run_id",
    "at",
    "status",
    "reason",
    "labels",
    "digest",
    "body",
    "block",
)
"""What ``run_of`` and ``session_of`` need of a row."""
_TOMBSTONES: Final = "SELECT lane, block, row FROM journal WHERE lane IN {lanes} AND kind = 'tombstone'"
PURGE_ROWS_BEFORE: Final = 2
"""A tombstone stands right behind its purge's answer and event, which stay with it."""

Row = Mapping[str, Any]


def instant(micros: int) -> datetime:
    """Return the UTC instant of microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)


def record_of(row: Row) -> CommittedRecord:
    """Return the record, or lane event, of a row of ``RECORD_COLUMNS``."""
    return CommittedRecord(
        row["lane"],
        row["lane_seq"],
        row["seq"],
        row["run_id"],
        row["agent_id"],
        row["session_id"],
        row["turn_id"],
        row["event_key"],
        row["type"],
        row["body"],
        instant(row["at"]),
        instant(row["time"]),
        SessionStatus(row["status"]),
        row["partition"],
        row["block"],
    )


def run_of(row: Row) -> RunState:
    """Return the run state of a row of ``STATE_COLUMNS``; raises ``JournalFault``."""
    try:
        rest: Mapping[str, Any] = json.loads(row["body"])
        return RunState(
            run_id=row["run_id"],
            agent_id=row["agent_id"],
            session_id=row["session_id"],
            parent_run_id=row["parent_run_id"],
            status=RunStatus(row["status"]),
            start_outcome=StartOutcome(rest["start_outcome"]),
            started_at=instant(row["at"]),
            updated_at=instant(rest["updated_at"]),
            labels=json.loads(row["labels"]),
            cancellation_reason=row["reason"],
            start_key=rest["start_key"],
            link_key=rest["link_key"],
            cancellation_key=rest["cancellation_key"],
            suspension_key=rest["suspension_key"],
            terminal_key=rest["terminal_key"],
            suspension_id=rest["suspension_id"],
            checkpoint_digest=bytes.fromhex(row["digest"]),
        )
    except (ValueError, KeyError) as error:
        raise JournalFault(f"a run's state can't be read ({type(error).__name__})") from None


def session_of(row: Row) -> SessionState:
    """Return the session state of a row of ``STATE_COLUMNS``, be it a session's or a tombstone's."""
    session_id = lane_session(row["lane"])
    if row["kind"] == "tombstone":
        return SessionState(session_id, None, purged=True)
    ended = instant(int(row["body"])) if row["body"] else None
    session = Session(session_id, SessionStatus(row["status"]), instant(row["at"]), ended)
    return SessionState(session_id, session, purged=False)


def tombstones(pool: ClientPool, lanes: Iterable[str]) -> Mapping[str, tuple[int, int]]:
    """Return the purged ones of ``lanes``, each with the (block, row) before which its rows are erased."""
    found: dict[str, tuple[int, int]] = {}
    for some in slices(sorted(lanes)):
        for lane, block, row in pool.query(_TOMBSTONES.format(lanes=names(some))):
            found[lane] = (int(block), int(row) - PURGE_ROWS_BEFORE)
    return found
