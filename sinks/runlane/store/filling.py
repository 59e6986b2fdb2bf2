"""Filling the tables that searches read out of the journal's new blocks (design, Reading)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runlane.store.engine import ClientPool
from runlane.store.tables import JOURNAL

_HELD: Final = "SELECT partition, max(block) FROM search_progress GROUP BY partition"
_ENDS: Final = f"""
SELECT partition, max(block), argMax(time, block) FROM journal
WHERE {JOURNAL.commits} AND ({{newer}})
GROUP BY partition
"""  # noqa: S608
_KINDS: Final = """
SELECT DISTINCT kind FROM journal WHERE ({blocks}) AND kind IN ('run', 'session', 'tombstone')
"""
_FILLS: Final = {
    # First, so that the others leave out what was purged since.
    "tombstone": """
INSERT INTO purged_lanes
SELECT lane, block FROM journal
WHERE ({blocks}) AND kind = 'tombstone'
""",
    "run": """
INSERT INTO run_search
SELECT
    run_id, lane, session_id, agent_id, parent_run_id, status, JSONExtractString(body, 'start_outcome'), at,
    JSONExtractInt(body, 'updated_at'), JSONExtract(labels, 'Map(String, String)'), reason, block
FROM journal
WHERE ({blocks}) AND kind = 'run' AND lane NOT IN (SELECT lane FROM purged_lanes)
""",
    "session": """
INSERT INTO session_search
SELECT session_id, lane, status, at, body, block FROM journal
WHERE ({blocks}) AND kind = 'session' AND lane NOT IN (SELECT lane FROM purged_lanes)
""",
}
_PROGRESS: Final = "INSERT INTO search_progress (partition, block, time) VALUES {rows}"
_PURGED: Final = """
SELECT lane FROM purged_lanes UNION ALL SELECT lane FROM journal WHERE kind = 'tombstone' AND ({behind})
"""
_DERIVED: Final = ("search_progress", "run_search", "session_search", "purged_lanes")


@dataclass(frozen=True, slots=True)
class _Span:
    """Blocks of a partition, from the one after ``held`` to ``last``; ``time`` is that of the last."""

    partition: int
    held: int
    last: int
    time: int


def refresh_search(pool: ClientPool) -> None:
    """Fill the derived tables with the blocks that they do not hold yet.

    Any process may do it, several at once too: a block filled twice changes nothing.
    """
    spans = _unfilled(pool)
    if not spans:
        return
    blocks = _condition(spans)
    kinds = {kind for (kind,) in pool.query(_KINDS.format(blocks=blocks))}
    for kind, fill in _FILLS.items():
        if kind in kinds:
            pool.command(fill.format(blocks=blocks))
    # Only now: a fill that breaks is done again.
    rows = ", ".join(f"({span.partition}, {span.last}, {span.time})" for span in spans)
    pool.command(_PROGRESS.format(rows=rows), settings={"async_insert": 0})


def rebuild_search(pool: ClientPool) -> None:
    """Make the derived tables anew out of the journal; a search that runs meanwhile finds less."""
    for table in _DERIVED:
        pool.command(f"TRUNCATE TABLE {table} SYNC")
    refresh_search(pool)


def unfilled(pool: ClientPool) -> str:
    """Return the SQL condition that a row of the journal is in a block which the tables do not hold yet."""
    return _condition(_unfilled(pool))


def purged_lanes(behind: str) -> str:
    """Return the subquery of all purged lanes; ``behind`` is what ``unfilled`` returned."""
    return _PURGED.format(behind=behind)


def _unfilled(pool: ClientPool) -> Sequence[_Span]:
    """Return the blocks that the tables lack; commit rows say so, which lie together."""
    held: dict[int, int] = {int(partition): int(block) for partition, block in pool.query(_HELD)}
    newer = [f"partition = {partition} AND block > {block}" for partition, block in held.items()]
    newer += [f"partition NOT IN ({', '.join(map(str, held))})" if held else "1"]
    return [
        _Span(partition, held.get(partition, -1), last, time)
        for partition, last, time in pool.query(_ENDS.format(newer=" OR ".join(newer)))
    ]


def _condition(spans: Sequence[_Span]) -> str:
    each = (f"partition = {one.partition} AND block > {one.held} AND block <= {one.last}" for one in spans)
    return " OR ".join(each) or "0"
