"""What a reader of committed state offers: the contract's reads (2.11) and the searches for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from runlane.contract.values import (
    NO_LABELS,
    Page,
    RunMeta,
    RunStatus,
    RunSuspension,
    Session,
    SessionStatus,
)


@dataclass(frozen=True, slots=True)
class SessionScope:
    """Sessions by id or by the start of their id, as a viewer token names them; never a sessionless run."""

    ids: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    def holds(self, session_id: str) -> bool:
        """Whether a session, or a run of it, may be seen."""
        return bool(session_id) and (session_id in self.ids or session_id.startswith(self.prefixes))

    def within(self, other: SessionScope) -> SessionScope:
        """Return the scope that holds exactly what both hold."""
        return SessionScope(
            ids=tuple(i for i in self.ids if other.holds(i)) + tuple(i for i in other.ids if self.holds(i)),
            prefixes=tuple(p for p in self.prefixes if p.startswith(other.prefixes))
            + tuple(p for p in other.prefixes if p.startswith(self.prefixes)),
        )


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Filter of ``search_runs``; an empty field does not filter. Times are aware, ``until`` is exclusive.

    A ``scope`` is no preference but a right: runs outside of it appear neither in a page nor in a cursor.
    """

    statuses: tuple[RunStatus, ...] = ()
    agent_id: str = ""
    session_id: str = ""
    scope: SessionScope | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    started_from: datetime | None = None
    started_until: datetime | None = None
    cursor: str = ""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs newest first. The search reads a derived table that may lag: ``as_of`` is its last commit time."""

    runs: tuple[RunMeta, ...]
    next_cursor: str
    as_of: datetime | None


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Sessions by id; ``next_cursor`` is empty at the end."""

    sessions: tuple[Session, ...]
    next_cursor: str


class Reader(Protocol):
    """Linearisable reads of committed state. Each may raise ``Unavailable`` besides what it names."""

    async def load_run(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        ...

    async def load_run_suspension(self, run_id: str) -> RunSuspension:
        """Return the exact checkpoint; ``RunNotFound``, ``RunSuspensionNotFound``, ``NotPermitted``."""
        ...

    async def load_session(self, session_id: str) -> Session:
        """Return the session; ``SessionPurged``, ``SessionNotFound``."""
        ...

    async def load_session_status(self, session_id: str) -> SessionStatus:
        """Return active or ended; ``SessionPurged``, ``SessionNotFound`` (also for the empty id, C248)."""
        ...

    async def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> tuple[RunMeta, ...]:
        """Return the session's runs in any order, only those of ``statuses`` when given (C250)."""
        ...

    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        """Return a page of a run; checks limit, then cursor, then existence (contract 2.11)."""
        ...

    async def list_session_run_records(self, session_id: str, cursor: str, limit: int) -> Page:
        """Return a page of a session's runs in commit order; checks limit, then cursor, then existence."""
        ...

    async def list_sessions(
        self,
        status: SessionStatus | None = None,
        cursor: str = "",
        limit: int = 100,
        scope: SessionScope | None = None,
    ) -> SessionPage:
        """Return a page of sessions, only those of ``status`` and inside ``scope`` when given."""
        ...

    async def search_runs(self, query: RunQuery) -> RunPage:
        """Return a page of runs that match; reads a derived table that may lag by a moment."""
        ...
