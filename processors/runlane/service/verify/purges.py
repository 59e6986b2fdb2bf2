"""Purged lanes: what may be gone of them, and what must be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import Row

Purges = Mapping[str, tuple[int, int]]
"""Purged lanes, with block and row of their tombstone."""

_REMOVED_BY_PURGE: Final = frozenset({"answer", "record", "run", "session", "checkpoint"})
_STATE: Final = _REMOVED_BY_PURGE - {"answer"}
_PURGE_ROWS: Final = 2


def erased(lane: str, block: int, purges: Purges) -> bool:
    """Whether rows of ``lane`` in ``block`` may be gone, since the lane was purged then or later."""
    return lane in purges and block <= purges[lane][0]


def report_ghosts(rows: Iterable[Row], purges: Purges, report: Report) -> Iterator[Row]:
    """Pass rows on, and report those that a purge should have removed or that came after one."""
    haunted: set[str] = set()
    for row in rows:
        stone = purges.get(row.lane)
        if stone is not None and row.lane not in haunted and _is_ghost(row, stone):
            haunted.add(row.lane)
            place = Place(row.partition, row.block, row.lane)
            report.add(place.fault("purged_rows", "rows of a purged lane are there"))
        yield row


def _is_ghost(row: Row, stone: tuple[int, int]) -> bool:
    """Whether a purged lane's row should have been erased, or came after the tombstone.

    The purge's own answer and event, which stand before the tombstone, stay; so do later answers: refusals.
    """
    block, number = stone
    if (row.block, row.row) < (block, number - _PURGE_ROWS):
        return row.kind in _REMOVED_BY_PURGE
    return (row.block, row.row) > stone and row.kind in _STATE
