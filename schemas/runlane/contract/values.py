"""The values of the contract: sessions, runs, records and pages (contract 1.2 to 1.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


class SessionStatus(StrEnum):
    """State of a session; ``NONE`` is what a sessionless run reports (contract 1.2, 1.12)."""

    NONE = ""
    ACTIVE = "active"
    ENDED = "ended"


class RunStatus(StrEnum):
    """State of a run; every one but ``RUNNING`` is terminal (contract 1.3)."""

    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def terminal(self) -> bool:
        """Whether the run accepts no new work."""
        return self is not RunStatus.RUNNING


class StartOutcome(StrEnum):
    """What a start decided, for ever (contract 1.3)."""

    PROCEED = "proceed"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Session:
    """A session as its host made it. Times are UTC instants with microseconds."""

    id: str
    status: SessionStatus
    created_at: datetime
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunStart:
    """The immutable identity that a start supplies (contract 1.4). Empty string = absent, None = unset."""

    run_id: str = ""
    agent_id: str = ""
    session_id: str = ""
    parent_run_id: str = ""
    predecessor_run_id: str = ""
    started_at: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)


@dataclass(frozen=True, slots=True)
class RunMeta:
    """A run as ``load_run`` returns it (contract 1.5). Times are UTC."""

    run_id: str
    agent_id: str
    session_id: str
    parent_run_id: str
    status: RunStatus
    start_outcome: StartOutcome
    started_at: datetime
    updated_at: datetime
    labels: Mapping[str, str]
    cancellation_reason: str


@dataclass(frozen=True, slots=True)
class RunSuspension:
    """A checkpoint: an id and opaque bytes that come back identical (contract 1.6)."""

    id: str = ""
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A record as its writer supplies it (contract 1.7); ``timestamp`` is aware, in whole milliseconds."""

    event_key: str = ""
    run_id: str = ""
    agent_id: str = ""
    session_id: str = ""
    turn_id: str = ""
    type: str = ""
    payload: bytes = b""
    timestamp: datetime | None = None


class CommittedRecord(NamedTuple):
    """A record, or a lane event, as it was committed.

    ``seq`` is gapless per run and is the record's id; ``lane_seq`` is gapless per lane. A lane event (session
    created, ended, purged) has no run: ``run_id`` is empty, ``seq`` is 0. ``session_status`` is the write's.
    """

    lane: str
    lane_seq: int
    seq: int
    run_id: str
    agent_id: str
    session_id: str
    turn_id: str
    event_key: str
    type: str
    payload: bytes
    timestamp: datetime
    committed_at: datetime
    session_status: SessionStatus
    partition: int
    block: int

    @property
    def id(self) -> str:
        """The record's id: its ``seq`` in decimal (design, Words)."""
        return str(self.seq)


@dataclass(frozen=True, slots=True)
class Page:
    """Records oldest first; ``next_cursor`` is empty exactly when no further record existed at read time."""

    records: tuple[CommittedRecord, ...]
    next_cursor: str
