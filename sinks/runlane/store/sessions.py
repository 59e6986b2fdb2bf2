"""The list of sessions, read from the journal's narrow columns in the order of its lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runlane.contract.errors import InvalidCommand
from runlane.contract.ids import SESSION_PREFIX, id_fault, session_lane
from runlane.contract.reader import SessionPage, SessionScope
from runlane.contract.values import SessionStatus
from runlane.store.engine import ClientPool
from runlane.store.values import session_of

_COLUMNS: Final[tuple[str, ...]] = ("status", "at", "body")
_SESSIONS: Final = """
SELECT lane, argMax((status, at, body), (block, row)) AS state
FROM journal
WHERE lane > {{after:String}} AND startsWith(lane, 's/') AND kind IN ('session', 'tombstone') AND {scope}
GROUP BY lane
HAVING countIf(kind = 'tombstone') = 0
    AND ({{status:String}} = '' OR tupleElement(state, 1) = {{status:String}})
ORDER BY lane
LIMIT {{limit:UInt64}}
"""
_IN_ORDER: Final = {"optimize_aggregation_in_order": 1}


def list_sessions(
    pool: ClientPool, *, status: SessionStatus | None, cursor: str, limit: int, scope: SessionScope | None
) -> SessionPage:
    """Return a page of sessions by id; ``InvalidCommand`` for a cursor that is no session id.

    The cursor is the last session's id. Purged sessions are no sessions any more.
    """
    if cursor and id_fault(cursor):
        raise InvalidCommand("cursor is not one that a page returned", code="invalid_cursor")
    condition, parameters = scope_condition(scope, "lane", SESSION_PREFIX)
    rows: Sequence[Sequence[Any]] = pool.query(
        _SESSIONS.format(scope=condition),
        {**parameters, "after": session_lane(cursor), "status": status or "", "limit": limit + 1},
        settings=_IN_ORDER,
    )
    found = [
        session_of({"kind": "session", "lane": lane, **dict(zip(_COLUMNS, state, strict=True))}).session
        for lane, state in rows[:limit]
    ]
    sessions = tuple(session for session in found if session is not None)
    return SessionPage(sessions, sessions[-1].id if len(rows) > limit else "")


def scope_condition(scope: SessionScope | None, column: str, prefix: str = "") -> tuple[str, dict[str, Any]]:
    """Return the SQL condition, with its parameters, that ``column``, behind ``prefix``, is in ``scope``."""
    if scope is None:
        return "1", {}
    condition = (
        f"{column} != '' AND ({column} IN {{scope_ids:Array(String)}}"
        f" OR arrayExists(p -> startsWith({column}, p), {{scope_prefixes:Array(String)}}))"
    )
    return condition, {
        "scope_ids": [prefix + session_id for session_id in scope.ids],
        "scope_prefixes": [prefix + start for start in scope.prefixes],
    }
