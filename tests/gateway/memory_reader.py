"""A reader over plain dictionaries, for the gateway's tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from runlane.contract.errors import (
    InvalidCommand,
    RunNotFound,
    RunSuspensionNotFound,
    SessionNotFound,
    SessionPurged,
)
from runlane.contract.reader import RunPage, RunQuery, SessionPage, SessionScope
from runlane.contract.values import (
    CommittedRecord,
    Page,
    RunMeta,
    RunStatus,
    RunSuspension,
    Session,
    SessionStatus,
    StartOutcome,
)

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def a_run(run_id: str, session_id: str = "", **changes: object) -> RunMeta:
    run = RunMeta(
        run_id=run_id,
        agent_id="agent",
        session_id=session_id,
        parent_run_id="",
        status=RunStatus.RUNNING,
        start_outcome=StartOutcome.PROCEED,
        started_at=NOON.replace(microsecond=123000),
        updated_at=NOON,
        labels={"team": "blue"},
        cancellation_reason="",
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def a_record(run_id: str, session_id: str, seq: int, payload: bytes = b"{}") -> CommittedRecord:
    return CommittedRecord(
        lane=f"s/{session_id}" if session_id else f"r/{run_id}",
        lane_seq=seq,
        seq=seq,
        run_id=run_id,
        agent_id="agent",
        session_id=session_id,
        turn_id="",
        event_key=f"key-{seq}",
        type="note",
        payload=payload,
        timestamp=NOON,
        committed_at=NOON,
        session_status=SessionStatus.ACTIVE,
        partition=0,
        block=seq,
    )


@dataclass
class MemoryReader:
    runs: dict[str, RunMeta] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    purged: set[str] = field(default_factory=set)
    records: list[CommittedRecord] = field(default_factory=list)
    suspensions: dict[str, RunSuspension] = field(default_factory=dict)
    failure: Exception | None = None

    def add_run(self, run_id: str, session_id: str = "", **changes: object) -> None:
        self.runs[run_id] = a_run(run_id, session_id, **changes)

    def add_session(self, session_id: str, status: SessionStatus = SessionStatus.ACTIVE) -> None:
        self.sessions[session_id] = Session(session_id, status, NOON)

    async def load_run(self, run_id: str) -> RunMeta:
        if self.failure:
            raise self.failure
        if run_id not in self.runs:
            raise RunNotFound("run not found in the store")
        return self.runs[run_id]

    async def load_run_suspension(self, run_id: str) -> RunSuspension:
        await self.load_run(run_id)
        if run_id not in self.suspensions:
            raise RunSuspensionNotFound("no checkpoint")
        return self.suspensions[run_id]

    async def load_session(self, session_id: str) -> Session:
        if session_id in self.purged:
            raise SessionPurged("purged")
        if session_id not in self.sessions:
            raise SessionNotFound("session not found in the store")
        return self.sessions[session_id]

    async def load_session_status(self, session_id: str) -> SessionStatus:
        return (await self.load_session(session_id)).status

    async def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> tuple[RunMeta, ...]:
        await self.load_session(session_id)
        found = (run for run in self.runs.values() if run.session_id == session_id)
        return tuple(run for run in found if not statuses or run.status in statuses)

    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        start = _start(cursor, limit)
        await self.load_run(run_id)
        return _page([one for one in self.records if one.run_id == run_id], start, limit)

    async def list_session_run_records(self, session_id: str, cursor: str, limit: int) -> Page:
        start = _start(cursor, limit)
        await self.load_session(session_id)
        return _page([one for one in self.records if one.session_id == session_id], start, limit)

    async def list_sessions(
        self,
        status: SessionStatus | None = None,
        cursor: str = "",
        limit: int = 100,
        scope: SessionScope | None = None,
    ) -> SessionPage:
        if self.failure:
            raise self.failure
        found = [one for name, one in sorted(self.sessions.items()) if name > cursor]
        found = [one for one in found if scope is None or scope.holds(one.id)]
        found = [one for one in found if status is None or one.status is status]
        return SessionPage(tuple(found[:limit]), found[limit - 1].id if len(found) > limit else "")

    async def search_runs(self, query: RunQuery) -> RunPage:
        found = [run for run in self.runs.values() if _matches(run, query)]
        return RunPage(tuple(found[: query.limit]), "", NOON)


def _start(cursor: str, limit: int) -> int:
    if limit <= 0:
        raise InvalidCommand("limit must be positive", code="invalid_limit")
    if cursor and not cursor.isdecimal():
        raise InvalidCommand("not a cursor", code="invalid_cursor")
    return int(cursor or 0)


def _page(records: list[CommittedRecord], start: int, limit: int) -> Page:
    rest = [one for one in records if one.seq > start]
    return Page(tuple(rest[:limit]), str(rest[limit - 1].seq) if len(rest) > limit else "")


def _matches(run: RunMeta, query: RunQuery) -> bool:
    return (
        (not query.statuses or run.status in query.statuses)
        and query.agent_id in {"", run.agent_id}
        and query.session_id in {"", run.session_id}
        and (query.scope is None or query.scope.holds(run.session_id))
        and all(run.labels.get(key) == value for key, value in query.labels.items())
        and (query.started_from is None or run.started_at >= query.started_from)
        and (query.started_until is None or run.started_at < query.started_until)
    )
