"""Erasing what a purge left: a lane's rows before its tombstone, in the journal and what is derived of it.

The owner of the lane's partition issues it, after the tombstone's block is committed and its outcome and
marker are sent. What stays is the tombstone with the purge's answer and event; claims have their own lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runlane.store.engine import ClientPool
from runlane.store.values import PURGE_ROWS_BEFORE

_OLDER: Final = "lane = {lane:String} AND (block, toInt64(row)) < ({block:UInt64}, {row:Int64})"
_ANY_OLDER: Final = f"SELECT 1 FROM journal WHERE {_OLDER} LIMIT 1"  # noqa: S608
_ERASE: Final = f"ALTER TABLE journal DELETE WHERE {_OLDER}"
_DERIVED: Final = ("run_search", "session_search")
_ANY_FOUND: Final = "SELECT 1 FROM {table} WHERE lane = {{lane:String}} LIMIT 1"
_FORGET: Final = "ALTER TABLE {table} DELETE WHERE lane = {{lane:String}}"
_TOMBSTONES: Final = "SELECT lane, block, row FROM journal WHERE kind = 'tombstone' AND lane = {lane:String}"
_PURGED: Final = "SELECT lane FROM journal WHERE kind = 'tombstone' AND partition = {partition:UInt32}"
_PENDING: Final = f"""
SELECT lane FROM journal INNER JOIN (
    SELECT lane, block AS stone_block, toInt64(row) - {PURGE_ROWS_BEFORE} AS stone_row FROM journal
    WHERE kind = 'tombstone' AND partition = {{partition:UInt32}}
) AS stone USING (lane)
WHERE lane IN ({_PURGED}) AND (block, toInt64(row)) < (stone_block, stone_row)
GROUP BY lane
UNION DISTINCT
SELECT lane FROM run_search WHERE lane IN ({_PURGED}) GROUP BY lane
UNION DISTINCT
SELECT lane FROM session_search WHERE lane IN ({_PURGED}) GROUP BY lane
"""  # noqa: S608
_RUNNING: Final = """
SELECT table, mutation_id, parts_to_do, latest_fail_reason != '' FROM system.mutations
WHERE database = currentDatabase() AND table IN ('journal', 'run_search', 'session_search')
    AND NOT is_done
"""
_IN_BACKGROUND: Final = {"mutations_sync": 0}


@dataclass(frozen=True, slots=True)
class Erasure:
    """A running mutation: how many parts it still has to rewrite, and whether its last attempt failed."""

    table: str
    mutation_id: str
    parts_to_do: int
    failing: bool


@dataclass(frozen=True, slots=True)
class _Tombstone:
    lane: str
    block: int
    row: int

    @property
    def parameters(self) -> dict[str, str | int]:
        return {"lane": self.lane, "block": self.block, "row": self.row - PURGE_ROWS_BEFORE}


class Eraser:
    """Erases purged lanes, one mutation at a time. Every call may raise ``Unavailable``."""

    def __init__(self, pool: ClientPool) -> None:
        self._pool = pool

    def pending(self, partition: int) -> Sequence[str]:
        """Return the purged lanes of a partition that still have rows to erase."""
        return sorted(lane for (lane,) in self._pool.query(_PENDING, {"partition": partition}))

    def erase(self, lane: str) -> bool:
        """Go on erasing a purged lane; True when nothing is left to erase, False while a mutation has to run.

        A lane without a tombstone has nothing to erase.
        """
        left = [
            (tombstone, statement)
            for tombstone in self._tombstones(lane)
            if (statement := self._next(tombstone))
        ]
        if left and not self.running():
            tombstone, statement = left[0]
            self._pool.command(statement, tombstone.parameters, settings=_IN_BACKGROUND)
        return not left

    def running(self) -> Sequence[Erasure]:
        """Return the mutations that have not ended, for progress."""
        rows = self._pool.query(_RUNNING)
        return [
            Erasure(table, mutation_id, int(parts), bool(failing))
            for table, mutation_id, parts, failing in rows
        ]

    def _tombstones(self, lane: str) -> Sequence[_Tombstone]:
        rows = self._pool.query(_TOMBSTONES, {"lane": lane})
        return [_Tombstone(lane, int(block), int(row)) for lane, block, row in rows]

    def _next(self, tombstone: _Tombstone) -> str:
        """Return the statement that goes on erasing, or an empty string when nothing is left."""
        if self._pool.query(_ANY_OLDER, tombstone.parameters):
            return _ERASE
        for table in _DERIVED:
            if self._pool.query(_ANY_FOUND.format(table=table), {"lane": tombstone.lane}):
                return _FORGET.format(table=table)
        return ""
