"""Readers that hold back what their user may not see. To a viewer, missing and forbidden look the same."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from runlane.contract.errors import NotPermitted, RunNotFound, SessionNotFound
from runlane.contract.reader import Reader, RunPage, RunQuery, SessionPage, SessionScope
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus
from runlane.gateway.auth import Principal, Role


def reader_for(principal: Principal, reader: Reader) -> Reader:
    """Return ``reader`` narrowed to what ``principal`` may read."""
    if principal.scope is not None:
        return ViewerReader(reader, principal.scope)
    return reader if principal.role is Role.WORKER else HostReader(reader)


class HostReader:
    """Everything but checkpoints."""

    def __init__(self, reader: Reader) -> None:
        self.load_run = reader.load_run
        self.load_session = reader.load_session
        self.load_session_status = reader.load_session_status
        self.list_runs_by_session = reader.list_runs_by_session
        self.list_run_records = reader.list_run_records
        self.list_session_run_records = reader.list_session_run_records
        self.list_sessions = reader.list_sessions
        self.search_runs = reader.search_runs

    async def load_run_suspension(self, run_id: str) -> RunSuspension:  # noqa: ARG002 - the protocol's signature
        """Refuse: checkpoints go to worker tokens only."""
        raise NotPermitted("a checkpoint is read with a worker token")


class ViewerReader:
    """The sessions of a scope and their runs; whatever lies outside is not found."""

    def __init__(self, reader: Reader, scope: SessionScope) -> None:
        self._reader = reader
        self._scope = scope

    async def load_run(self, run_id: str) -> RunMeta:
        """Return the run of a visible session; ``RunNotFound``."""
        try:
            run = await self._reader.load_run(run_id)
        except RunNotFound:
            raise _no_run() from None
        if not self._scope.holds(run.session_id):
            raise _no_run()
        return run

    async def load_run_suspension(self, run_id: str) -> RunSuspension:  # noqa: ARG002 - the protocol's signature
        """Hide every checkpoint: ``RunNotFound``."""
        raise _no_run()

    async def load_session(self, session_id: str) -> Session:
        """Return a visible session; ``SessionNotFound``, ``SessionPurged``."""
        with self._visible(session_id):
            return await self._reader.load_session(session_id)

    async def load_session_status(self, session_id: str) -> SessionStatus:
        """Return a visible session's state; ``SessionNotFound``, ``SessionPurged``."""
        with self._visible(session_id):
            return await self._reader.load_session_status(session_id)

    async def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> tuple[RunMeta, ...]:
        """Return a visible session's runs; ``SessionNotFound``, ``SessionPurged``."""
        with self._visible(session_id):
            return await self._reader.list_runs_by_session(session_id, statuses)

    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        """Return a page of a visible run; ``RunNotFound`` comes first, so that no other error tells of it."""
        await self.load_run(run_id)
        return await self._reader.list_run_records(run_id, cursor, limit)

    async def list_session_run_records(self, session_id: str, cursor: str, limit: int) -> Page:
        """Return a page of a visible session; ``SessionNotFound``, ``SessionPurged``."""
        with self._visible(session_id):
            return await self._reader.list_session_run_records(session_id, cursor, limit)

    async def list_sessions(
        self,
        status: SessionStatus | None = None,
        cursor: str = "",
        limit: int = 100,
        scope: SessionScope | None = None,
    ) -> SessionPage:
        """Return a page of the visible sessions."""
        return await self._reader.list_sessions(status, cursor, limit, self._narrow(scope))

    async def search_runs(self, query: RunQuery) -> RunPage:
        """Return a page of the runs of visible sessions."""
        return await self._reader.search_runs(replace(query, scope=self._narrow(query.scope)))

    def _narrow(self, scope: SessionScope | None) -> SessionScope:
        return self._scope if scope is None else self._scope.within(scope)

    @contextmanager
    def _visible(self, session_id: str) -> Generator[None]:
        if not self._scope.holds(session_id):
            raise _no_session()
        try:
            yield
        except SessionNotFound:
            raise _no_session() from None


def _no_run() -> RunNotFound:
    return RunNotFound("no such run")


def _no_session() -> SessionNotFound:
    return SessionNotFound("no such session")
