"""The journal's reads for an event loop: ``runlane.contract.reader.Reader`` over a few threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from runlane.contract.reader import RunPage, RunQuery, SessionPage, SessionScope
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus
from runlane.store.engine import ClientPool
from runlane.store.reader import JournalReader

T = TypeVar("T")


class AsyncJournalReader:
    """Implements ``Reader``; at most ``threads`` reads run at once, since readers slow an embedded writer."""

    def __init__(self, pool: ClientPool, *, threads: int = 4) -> None:
        self._reader = JournalReader(pool)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="journal-read")

    async def load_run(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        return await self._call(lambda reader: reader.load_run(run_id))

    async def load_run_suspension(self, run_id: str) -> RunSuspension:
        """Return the exact checkpoint; ``RunNotFound``, ``RunSuspensionNotFound``."""
        return await self._call(lambda reader: reader.load_run_suspension(run_id))

    async def load_session(self, session_id: str) -> Session:
        """Return the session; ``SessionPurged``, ``SessionNotFound``."""
        return await self._call(lambda reader: reader.load_session(session_id))

    async def load_session_status(self, session_id: str) -> SessionStatus:
        """Return active or ended; ``SessionPurged``, ``SessionNotFound`` (also for the empty id, C248)."""
        return await self._call(lambda reader: reader.load_session_status(session_id))

    async def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> tuple[RunMeta, ...]:
        """Return the session's runs in any order, only those of ``statuses`` when given (C250)."""
        return await self._call(lambda reader: reader.list_runs_by_session(session_id, statuses))

    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        """Return a page of a run; checks limit, then cursor, then existence (contract 2.11)."""
        return await self._call(lambda reader: reader.list_run_records(run_id, cursor, limit))

    async def list_session_run_records(self, session_id: str, cursor: str, limit: int) -> Page:
        """Return a page of a session's runs in commit order; checks limit, then cursor, then existence."""
        return await self._call(lambda reader: reader.list_session_run_records(session_id, cursor, limit))

    async def list_sessions(
        self,
        status: SessionStatus | None = None,
        cursor: str = "",
        limit: int = 100,
        scope: SessionScope | None = None,
    ) -> SessionPage:
        """Return a page of sessions, only those of ``status`` and inside ``scope`` when given."""
        return await self._call(lambda reader: reader.list_sessions(status, cursor, limit, scope))

    async def search_runs(self, query: RunQuery) -> RunPage:
        """Return a page of runs that match; reads a derived table that may lag by a moment."""
        return await self._call(lambda reader: reader.search_runs(query))

    def close(self) -> None:
        """Wait for the reads that run and end the threads."""
        self._threads.shutdown()

    async def _call(self, read: Callable[[JournalReader], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, read, self._reader)
