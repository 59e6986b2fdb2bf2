"""The list of sessions: out of a derived table, and of the journal where that lags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runlane.contract.errors import InvalidCommand
from runlane.contract.ids import id_fault, session_lane
from runlane.contract.reader import SessionPage, SessionScope
from runlane.contract.values import Session, SessionStatus
from runlane.store.engine import ClientPool
from runlane.store.filling import purged_lanes, unfilled
from runlane.store.sql import names, slices
from runlane.store.values import instant

_FRESH: Final = """
SELECT session_id, argMax((status, at, body), block) FROM journal
WHERE kind = 'session' AND ({behind}) AND {inside}
GROUP BY session_id
"""
"""Sessions that changed in blocks which the derived table does not hold yet."""
_FILLED: Final = """
SELECT session_id, status, created_at, ended_at FROM (
    SELECT session_id, status, created_at, ended_at FROM session_search
    WHERE {inside} AND lane NOT IN ({purged})
        AND session_id NOT IN (SELECT session_id FROM journal WHERE kind = 'session' AND ({behind}))
    ORDER BY session_id, block DESC
    LIMIT 1 BY session_id
)
WHERE {{status:String}} IN ('', status)
ORDER BY session_id
LIMIT {{limit:UInt64}}
"""
_PURGED: Final = "SELECT lane FROM journal WHERE lane IN {lanes} AND kind = 'tombstone'"


def list_sessions(
    pool: ClientPool, *, status: SessionStatus | None, cursor: str, limit: int, scope: SessionScope | None
) -> SessionPage:
    """Return a page of sessions by id; ``InvalidCommand`` for a cursor that is no session id.

    The cursor is the last session's id. Purged sessions are no sessions any more. It reads a derived table,
    and the journal's blocks that this does not hold yet, so it lags behind nothing.
    """
    if cursor and id_fault(cursor):
        raise InvalidCommand("cursor is not one that a page returned", code="invalid_cursor")
    condition, parameters = scope_condition(scope, "session_id")
    parameters |= {"after": cursor, "status": status or "", "limit": limit + 1}
    behind = unfilled(pool)
    parts = {"inside": f"session_id > {{after:String}} AND {condition}", "behind": behind}
    fresh = pool.query(_FRESH.format(**parts), parameters)
    filled = pool.query(_FILLED.format(**parts, purged=purged_lanes(behind)), parameters)
    gone = _purged(pool, [session_lane(session_id) for session_id, _ in fresh])
    changed = (
        _session(session_id, *state) for session_id, state in fresh if session_lane(session_id) not in gone
    )
    listed = [_session(*row) for row in filled]
    listed += [session for session in changed if status in (None, session.status)]
    listed.sort(key=lambda session: session.id)
    page = tuple(listed[:limit])
    return SessionPage(page, page[-1].id if len(listed) > limit else "")


def _purged(pool: ClientPool, lanes: Sequence[str]) -> frozenset[str]:
    found = (row for some in slices(lanes) for row in pool.query(_PURGED.format(lanes=names(some))))
    return frozenset(lane for (lane,) in found)


def _session(session_id: str, status: str, created_at: int, ended_at: str) -> Session:
    ended = instant(int(ended_at)) if ended_at else None
    return Session(session_id, SessionStatus(status), instant(created_at), ended)


def scope_condition(scope: SessionScope | None, column: str) -> tuple[str, dict[str, Any]]:
    """Return the SQL condition, with its parameters, that the session id in ``column`` is in ``scope``."""
    if scope is None:
        return "1", {}
    condition = (
        f"{column} != '' AND ({column} IN {{scope_ids:Array(String)}}"
        f" OR arrayExists(p -> startsWith({column}, p), {{scope_prefixes:Array(String)}}))"
    )
    return condition, {"scope_ids": list(scope.ids), "scope_prefixes": list(scope.prefixes)}
