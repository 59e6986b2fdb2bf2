"""The reads of the contract as methods of the store: each goes to the store's reader."""

from __future__ import annotations

from collections.abc import Sequence

from runlane.contract.reader import Reader, RunPage, RunQuery, SessionPage, SessionScope
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus


class Reads:
    """Linearisable reads: they show every command whose outcome has come. Each may raise ``Unavailable``."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    async def load_run(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        return await self.reader.load_run(run_id)

    async def load_run_suspension(self, run_id: str) -> RunSuspension:
        """Return the exact checkpoint; ``RunNotFound``, ``RunSuspensionNotFound``, ``NotPermitted``."""
        return await self.reader.load_run_suspension(run_id)

    async def load_session(self, session_id: str) -> Session:
        """Return the session; ``SessionPurged``, ``SessionNotFound``."""
        return await self.reader.load_session(session_id)

    async def load_session_status(self, session_id: str) -> SessionStatus:
        """Return active or ended; ``SessionPurged``, ``SessionNotFound``."""
        return await self.reader.load_session_status(session_id)

    async def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> tuple[RunMeta, ...]:
        """Return the session's runs in any order, only those of ``statuses`` when given."""
        return await self.reader.list_runs_by_session(session_id, statuses)

    async def list_run_records(self, run_id: str, cursor: str = "", limit: int = 100) -> Page:
        """Return a page of a run, oldest first; ``InvalidCommand``, ``RunNotFound``."""
        return await self.reader.list_run_records(run_id, cursor, limit)

    async def list_session_run_records(self, session_id: str, cursor: str = "", limit: int = 100) -> Page:
        """Return a page of all runs of a session in commit order.

        Raises ``InvalidCommand``, ``SessionPurged``, ``SessionNotFound``.
        """
        return await self.reader.list_session_run_records(session_id, cursor, limit)

    async def list_sessions(
        self,
        status: SessionStatus | None = None,
        cursor: str = "",
        limit: int = 100,
        scope: SessionScope | None = None,
    ) -> SessionPage:
        """Return a page of sessions by id, only those of ``status`` and inside ``scope`` when given."""
        return await self.reader.list_sessions(status, cursor, limit, scope)

    async def search_runs(self, query: RunQuery) -> RunPage:
        """Return a page of runs that match, newest first; it may lag by a moment and says so in ``as_of``."""
        return await self.reader.search_runs(query)
