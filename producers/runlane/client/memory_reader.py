"""The reads of the contract over lanes in memory (contract 2.11)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runlane.client.memory_lanes import MemoryLanes
from runlane.contract.errors import (
    InvalidCommand,
    RunNotFound,
    RunSuspensionNotFound,
    SessionNotFound,
    SessionPurged,
)
from runlane.contract.ids import session_lane
from runlane.contract.paging import check_limit, cut_page, parse_cursor
from runlane.contract.reader import RunPage, RunQuery, SessionPage, SessionScope
from runlane.contract.state import RunState
from runlane.contract.times import micros
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus


class MemoryReader:
    """Implements ``Reader``; it sees a command as soon as its outcome is there."""

    def __init__(self, lanes: MemoryLanes) -> None:
        self._lanes = lanes

    async def load_run(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        return self._run(run_id).meta()

    async def load_run_suspension(self, run_id: str) -> RunSuspension:
        """Return the exact checkpoint; ``RunNotFound``, ``RunSuspensionNotFound``."""
        self._run(run_id)
        checkpoint = self._lanes.checkpoint(run_id)
        if checkpoint is None:
            raise RunSuspensionNotFound("the run has no checkpoint")
        return checkpoint

    async def load_session(self, session_id: str) -> Session:
        """Return the session; ``SessionPurged``, ``SessionNotFound``."""
        return self._session(session_id)

    async def load_session_status(self, session_id: str) -> SessionStatus:
        """Return active or ended; ``SessionPurged``, ``SessionNotFound``."""
        return self._session(session_id).status

    async def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> tuple[RunMeta, ...]:
        """Return the session's runs, only those of ``statuses`` when given."""
        self._session(session_id)
        runs = self._lanes.lane(session_lane(session_id)).runs()
        return tuple(run.meta() for run in runs if not statuses or run.status in statuses)

    async def list_run_records(self, run_id: str, cursor: str = "", limit: int = 100) -> Page:
        """Return a page of a run; checks limit, then cursor, then existence."""
        limit, after = check_limit(limit), parse_cursor(cursor)
        self._run(run_id)
        records = (r for r in self._lanes.run_history(run_id) if r.seq > after)
        return cut_page(records, limit, lambda record: record.seq)

    async def list_session_run_records(self, session_id: str, cursor: str = "", limit: int = 100) -> Page:
        """Return a page of a session's runs in commit order; checks limit, then cursor, then existence."""
        limit, after = check_limit(limit), parse_cursor(cursor)
        self._session(session_id)
        history = self._lanes.history(session_lane(session_id))
        records = (r for r in history if r.run_id and r.lane_seq > after)
        return cut_page(records, limit, lambda record: record.lane_seq)

    async def list_sessions(
        self,
        status: SessionStatus | None = None,
        cursor: str = "",
        limit: int = 100,
        scope: SessionScope | None = None,
    ) -> SessionPage:
        """Return a page of sessions by id; the cursor is the last id of the page before."""
        limit = check_limit(limit)
        found = [
            session
            for lane in self._lanes.all()
            if lane.session is not None and (session := lane.session.session) is not None
            if session.id > cursor and status in (None, session.status)
            if scope is None or scope.holds(session.id)
        ]
        found.sort(key=lambda session: session.id)
        return SessionPage(tuple(found[:limit]), found[limit - 1].id if len(found) > limit else "")

    async def search_runs(self, query: RunQuery) -> RunPage:
        """Return a page of runs that match, newest first; here it never lags."""
        limit = check_limit(query.limit)
        after = _parse_search_cursor(query.cursor)
        found = sorted((_order(run), run) for run in self._lanes.runs() if _matches(run, query))
        rest = [(order, run) for order, run in found if after is None or order > after]
        page = rest[:limit]
        cursor = _search_cursor(page[-1][0]) if len(rest) > limit else ""
        return RunPage(tuple(run.meta() for _, run in page), cursor, self._lanes.now())

    def _run(self, run_id: str) -> RunState:
        run = self._lanes.run(run_id)
        if run is None:
            raise RunNotFound("the run does not exist")
        return run

    def _session(self, session_id: str) -> Session:
        state = self._lanes.lane(session_lane(session_id)).session
        if state is not None and state.purged:
            raise SessionPurged("the session was purged")
        if state is None or state.session is None:
            raise SessionNotFound("the session does not exist")
        return state.session


_Order = tuple[int, str]


def _order(run: RunState) -> _Order:
    return -micros(run.started_at), run.run_id


def _search_cursor(order: _Order) -> str:
    return f"{-order[0]}:{order[1]}"


def _parse_search_cursor(cursor: str) -> _Order | None:
    if not cursor:
        return None
    started, separator, run_id = cursor.partition(":")
    if not separator or not started.lstrip("-").isdecimal():
        raise InvalidCommand("cursor is not one that a page returned", code="invalid_cursor")
    return -int(started), run_id


def _matches(run: RunState, query: RunQuery) -> bool:
    return (
        (not query.statuses or run.status in query.statuses)
        and query.agent_id in ("", run.agent_id)
        and query.session_id in ("", run.session_id)
        and (query.scope is None or query.scope.holds(run.session_id))
        and query.labels.items() <= run.labels.items()
        and _in_time(run.started_at, query)
    )


def _in_time(started: datetime, query: RunQuery) -> bool:
    if query.started_from is not None and started < query.started_from:
        return False
    return query.started_until is None or started < query.started_until
