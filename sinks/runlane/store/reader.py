"""The contract's reads over the journal (contract 2.11), and the searches for people.

A page is read after the states that say it exists. Records never change, so a page can only suffer from an
erase that runs meanwhile: one that ends before its limit is followed by a look for a tombstone.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Final

from runlane.contract.errors import (
    RunNotFound,
    RunSuspensionNotFound,
    SessionNotFound,
    SessionPurged,
)
from runlane.contract.ids import id_fault, run_lane, session_lane
from runlane.contract.limits import MAX_PAGE_BYTES
from runlane.contract.paging import check_limit, cut_page, parse_cursor
from runlane.contract.reader import RunPage, RunQuery, SessionPage, SessionScope
from runlane.contract.state import RunState
from runlane.contract.values import (
    CommittedRecord,
    Page,
    RunMeta,
    RunStatus,
    RunSuspension,
    Session,
    SessionStatus,
)
from runlane.store.engine import ClientPool
from runlane.store.search import search_runs
from runlane.store.sessions import list_sessions
from runlane.store.values import RECORD_COLUMNS, STATE_COLUMNS, record_of, run_of, session_of

_CLAIMED: Final = "SELECT body FROM journal WHERE lane = {home:String} AND kind = 'claim' LIMIT 1"
_STATES: Final = f"""
SELECT {", ".join(STATE_COLUMNS)} FROM journal
WHERE lane = {{lane:String}} AND kind IN {{kinds:Array(String)}}
    AND (kind != 'run' OR run_id = {{run:String}})
ORDER BY block, row
"""  # noqa: S608
_RUNS: Final = f"""
SELECT {", ".join(STATE_COLUMNS)} FROM journal
WHERE lane = {{lane:String}} AND kind IN ('run', 'session', 'tombstone')
ORDER BY block, row
"""  # noqa: S608
_CHECKPOINT: Final = """
SELECT event_key, body FROM journal
WHERE lane = {lane:String} AND kind = 'checkpoint' AND run_id = {run:String}
ORDER BY block DESC, row DESC LIMIT 1
"""
_PURGED: Final = "SELECT 1 FROM journal WHERE lane = {lane:String} AND kind = 'tombstone' LIMIT 1"
_OF_LANE: Final = "lane = {lane:String} AND kind = 'record' AND lane_seq > {after:UInt64}"
_OF_RUN: Final = "lane = {lane:String} AND kind = 'record' AND run_id = {run:String} AND seq > {after:UInt64}"
_PAGE: Final = """
SELECT {columns} FROM journal
WHERE {condition} AND lane_seq IN (
    SELECT lane_seq FROM (
        SELECT lane_seq, size, sum(size) OVER (ORDER BY lane_seq) AS total
        FROM (SELECT lane_seq, size FROM journal WHERE {condition} ORDER BY lane_seq LIMIT {{limit:UInt64}})
    )
    WHERE total - size <= {{bytes:UInt64}}
)
ORDER BY lane_seq
"""
"""The next records, and of those that exceed a page's bytes the first: what is read is what is returned."""
_LANE_EVENTS: Final = 3
"""A lane has no more events than: session created, ended, purged."""


class JournalReader:
    """Reads committed state; any number of threads may. Every read may raise ``Unavailable``."""

    def __init__(self, pool: ClientPool) -> None:
        self._pool = pool

    def load_run(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        return self._run(run_id)[1].meta()

    def load_run_suspension(self, run_id: str) -> RunSuspension:
        """Return the exact checkpoint; ``RunNotFound``, ``RunSuspensionNotFound``."""
        lane, run = self._run(run_id)
        if not run.suspension_id:
            raise RunSuspensionNotFound("the run has no checkpoint")
        rows = self._pool.query(_CHECKPOINT, {"lane": lane, "run": run_id})
        if not rows:
            # An erase took it after the run was read.
            raise RunNotFound("the run is unknown")
        return RunSuspension(rows[0][0], b64decode(rows[0][1]))

    def load_session(self, session_id: str) -> Session:
        """Return the session; ``SessionPurged``, ``SessionNotFound``."""
        return _session(self._states(_lane(session_id), ("session", "tombstone")))

    def load_session_status(self, session_id: str) -> SessionStatus:
        """Return active or ended; ``SessionPurged``, ``SessionNotFound`` (also for the empty id, C248)."""
        return self.load_session(session_id).status

    def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> tuple[RunMeta, ...]:
        """Return the session's runs, of ``statuses`` when given; ``SessionPurged``, ``SessionNotFound``."""
        rows = self._pool.query(_RUNS, {"lane": _lane(session_id)})
        states = [dict(zip(STATE_COLUMNS, row, strict=True)) for row in rows]
        _session([state for state in states if state["kind"] != "run"])
        runs = {state["run_id"]: state for state in states if state["kind"] == "run"}
        metas = (run_of(state).meta() for state in runs.values())
        return tuple(meta for meta in metas if not statuses or meta.status in statuses)

    def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        """Return a page of a run; checks limit, then cursor, then existence (contract 2.11)."""
        limit, after = check_limit(limit), parse_cursor(cursor)
        lane, _ = self._run(run_id)
        records = self._page(_OF_RUN, {"lane": lane, "run": run_id, "after": after}, limit + 1)
        page = cut_page(records, limit, lambda record: record.seq)
        if not page.next_cursor and self._purged(lane):
            raise RunNotFound("the run is unknown")
        return page

    def list_session_run_records(self, session_id: str, cursor: str, limit: int) -> Page:
        """Return a page of a session's runs in commit order; checks limit, then cursor, then existence."""
        limit, after = check_limit(limit), parse_cursor(cursor)
        self.load_session(session_id)
        lane = session_lane(session_id)
        records = self._page(_OF_LANE, {"lane": lane, "after": after}, limit + 1 + _LANE_EVENTS)
        page = cut_page(
            (record for record in records if record.run_id), limit, lambda record: record.lane_seq
        )
        if not page.next_cursor and self._purged(lane):
            raise SessionPurged("the session was purged")
        return page

    def list_sessions(
        self,
        status: SessionStatus | None = None,
        cursor: str = "",
        limit: int = 100,
        scope: SessionScope | None = None,
    ) -> SessionPage:
        """Return a page of sessions by id, only those of ``status`` and inside ``scope`` when given."""
        return list_sessions(self._pool, status=status, cursor=cursor, limit=check_limit(limit), scope=scope)

    def search_runs(self, query: RunQuery) -> RunPage:
        """Return a page of runs that match; reads a derived table that may lag by a moment."""
        return search_runs(self._pool, query)

    def _run(self, run_id: str) -> tuple[str, RunState]:
        """Return a run and its lane, which its claim names."""
        if id_fault(run_id):
            raise RunNotFound("the run is unknown")
        claims = self._pool.query(_CLAIMED, {"home": run_lane(run_id)})
        lane: str = claims[0][0] if claims else ""
        states = self._states(lane, ("run", "tombstone"), run_id) if lane else ()
        if not states or any(state["kind"] == "tombstone" for state in states):
            raise RunNotFound("the run is unknown")
        return lane, run_of(states[-1])

    def _states(self, lane: str, kinds: Sequence[str], run_id: str = "") -> Sequence[dict[str, Any]]:
        rows = self._pool.query(_STATES, {"lane": lane, "kinds": list(kinds), "run": run_id})
        return [dict(zip(STATE_COLUMNS, row, strict=True)) for row in rows]

    def _page(self, condition: str, parameters: dict[str, Any], limit: int) -> Sequence[CommittedRecord]:
        sql = _PAGE.format(columns=", ".join(RECORD_COLUMNS), condition=condition)
        rows = self._pool.query(sql, {**parameters, "limit": limit, "bytes": MAX_PAGE_BYTES}, raw=("body",))
        return [record_of(dict(zip(RECORD_COLUMNS, row, strict=True))) for row in rows]

    def _purged(self, lane: str) -> bool:
        return bool(self._pool.query(_PURGED, {"lane": lane}))


def _lane(session_id: str) -> str:
    """Return a session's lane; a text that can't be an identifier names no session."""
    if id_fault(session_id):
        raise SessionNotFound("the session is unknown")
    return session_lane(session_id)


def _session(states: Sequence[dict[str, Any]]) -> Session:
    """Return the session of its states in block order; ``SessionPurged`` before ``SessionNotFound``."""
    if any(state["kind"] == "tombstone" for state in states):
        raise SessionPurged("the session was purged")
    session = session_of(states[-1]).session if states else None
    if session is None:
        raise SessionNotFound("the session is unknown")
    return session
