"""Runs by status, agent, labels, time, out of a derived table that may lag; it answers no contract read."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from runlane.contract.errors import InvalidCommand
from runlane.contract.paging import check_limit
from runlane.contract.reader import RunPage, RunQuery
from runlane.contract.times import micros
from runlane.contract.values import RunMeta, RunStatus, StartOutcome
from runlane.store.engine import ClientPool
from runlane.store.filling import purged_lanes, unfilled
from runlane.store.sessions import scope_condition
from runlane.store.values import instant

_FIXED: Final = ("agent_id", "session_id", "parent_run_id", "start_outcome", "labels")
"""Columns that a run never changes."""
_NEWEST: Final = ("status", "updated_at", "cancellation_reason")
_COLUMNS: Final[tuple[str, ...]] = ("run_id", "started_at", *_FIXED, *_NEWEST)
_SELECTED: Final = ", ".join(
    ["run_id", "-newest_first AS started_at"]
    + [f"any({name}) AS the_{name}" for name in _FIXED]
    + [f"argMax({name}, block) AS the_{name}" for name in _NEWEST]
)
_SEARCH: Final = f"""
SELECT {_SELECTED} FROM run_search
WHERE {{conditions}}
GROUP BY newest_first, run_id
HAVING empty({{{{statuses:Array(String)}}}}) OR the_status IN {{{{statuses:Array(String)}}}}
ORDER BY newest_first, run_id
LIMIT {{{{limit:UInt64}}}}
"""  # noqa: S608
_IN_ORDER: Final = {"optimize_aggregation_in_order": 1}
_AS_OF: Final = "SELECT maxOrNull(time) FROM search_progress"


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The last run of a page: runs go on behind it, newest first."""

    started_at: int
    run_id: str

    def text(self) -> str:
        plain = json.dumps([self.started_at, self.run_id], ensure_ascii=False).encode()
        return base64.urlsafe_b64encode(plain).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> _Cursor:
        try:
            padded = text + "=" * (-len(text) % 4)
            started_at, run_id = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        except ValueError:
            started_at, run_id = None, None
        if type(started_at) is not int or not -(2**63) <= started_at < 2**63 or not isinstance(run_id, str):
            raise InvalidCommand("cursor is not one that a page returned", code="invalid_cursor")
        return cls(started_at, run_id)


def search_runs(pool: ClientPool, query: RunQuery) -> RunPage:
    """Return a page of runs newest first; ``InvalidCommand`` for the limit or the cursor.

    ``as_of`` is the time of the last commit that the derived table holds, None when it holds none. Purged
    lanes never appear, however far the table lags.
    """
    limit = check_limit(query.limit)
    conditions, parameters = _conditions(query)
    conditions = [*conditions, f"lane NOT IN ({purged_lanes(unfilled(pool))})"]
    as_of = pool.query(_AS_OF)[0][0]
    rows = pool.query(
        _SEARCH.format(conditions=" AND ".join(conditions)),
        {**parameters, "statuses": list(query.statuses), "limit": limit + 1},
        settings=_IN_ORDER,
    )
    found: list[dict[str, Any]] = [dict(zip(_COLUMNS, row, strict=True)) for row in rows[:limit]]
    cursor = _Cursor(found[-1]["started_at"], found[-1]["run_id"]).text() if len(rows) > limit else ""
    return RunPage(tuple(map(_run, found)), cursor, None if as_of is None else instant(as_of))


def _conditions(query: RunQuery) -> tuple[Sequence[str], Mapping[str, Any]]:
    scoped, parameters = scope_condition(query.scope, "session_id")
    conditions = [scoped]
    for column, value in (("agent_id", query.agent_id), ("session_id", query.session_id)):
        if value:
            conditions.append(f"{column} = {{{column}:String}}")
            parameters[column] = value
    for number, (key, value) in enumerate(query.labels.items()):
        conditions.append(f"labels[{{key{number}:String}}] = {{value{number}:String}}")
        conditions.append(f"mapContains(labels, {{key{number}:String}})")
        parameters |= {f"key{number}": key, f"value{number}": value}
    if query.started_from is not None:
        conditions.append("newest_first <= {from:Int64}")
        parameters["from"] = -micros(query.started_from)
    if query.started_until is not None:
        conditions.append("newest_first > {until:Int64}")
        parameters["until"] = -micros(query.started_until)
    if query.cursor:
        cursor = _Cursor.parse(query.cursor)
        conditions.append("(newest_first, run_id) > ({at:Int64}, {run:String})")
        parameters |= {"at": -cursor.started_at, "run": cursor.run_id}
    return conditions, parameters


def _run(row: Mapping[str, Any]) -> RunMeta:
    return RunMeta(
        run_id=row["run_id"],
        agent_id=row["agent_id"],
        session_id=row["session_id"],
        parent_run_id=row["parent_run_id"],
        status=RunStatus(row["status"]),
        start_outcome=StartOutcome(row["start_outcome"]),
        started_at=instant(row["started_at"]),
        updated_at=instant(row["updated_at"]),
        labels=row["labels"],
        cancellation_reason=row["cancellation_reason"],
    )
