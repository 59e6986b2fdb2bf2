"""Reading memory: pages of what a run remembers, without what its product deleted."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from runlane.contract.errors import InvalidCommand
from runlane.contract.limits import MAX_PAGE_BYTES
from runlane.contract.memory import MemoryPage, decode_event
from runlane.contract.paging import check_limit
from runlane.store.engine import ClientPool

_CURSOR: Final = re.compile(r"([0-9]{1,18})\.([0-9]{1,9})", re.ASCII)
_OF_RUN: Final = "agent_id = {agent:String} AND run_id = {run:String}"
_DELETED: Final = (
    f"SELECT ifNull(maxOrNull(position), -1) FROM memory_events WHERE {_OF_RUN} AND kind = 'delete'"  # noqa: S608
)
_NEXT: Final = f"""
{_OF_RUN} AND kind = 'event' AND position > {{deleted:Int64}}
    AND (position, row) > ({{position:Int64}}, {{row:Int64}})
"""
_PAGE: Final = f"""
SELECT position, row, body FROM memory_events
WHERE {_NEXT} AND (position, row) IN (
    SELECT position, row FROM (
        SELECT position, row, size, sum(size) OVER (ORDER BY position, row) AS total
        FROM (
            SELECT position, row, size FROM memory_events
            WHERE {_NEXT} ORDER BY position, row LIMIT {{limit:UInt64}}
        )
    )
    WHERE total - size <= {{bytes:UInt64}}
)
ORDER BY position, row
"""  # noqa: S608


class MemoryTableReader:
    """Implements ``MemoryReader`` over the table; at most ``threads`` reads run at once.

    A page is read after the deletions: what a deletion that came later hides is not shown by the next page,
    whose ``deleted`` differs.
    """

    def __init__(self, pool: ClientPool, *, threads: int = 2) -> None:
        self._pool = pool
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="memory-read")

    async def memory_page(self, agent_id: str, run_id: str, cursor: str, limit: int) -> MemoryPage:
        """Return a page; ``InvalidCommand``, ``Unavailable``."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.page, agent_id, run_id, cursor, limit)

    def page(self, agent_id: str, run_id: str, cursor: str = "", limit: int = 100) -> MemoryPage:
        """As ``memory_page``, for threads."""
        wanted = check_limit(limit)
        position, row = _parse(cursor)
        parameters: dict[str, str | int] = {"agent": agent_id, "run": run_id}
        deleted = int(self._pool.query(_DELETED, parameters)[0][0])
        parameters |= {"deleted": deleted, "position": position, "row": row}
        parameters |= {"limit": wanted + 1, "bytes": MAX_PAGE_BYTES}
        rows = self._pool.query(_PAGE, parameters, raw=("body",))
        kept = list(rows[:1])
        size = len(rows[0][2]) if rows else 0
        for found in rows[1:wanted]:
            size += len(found[2])
            if size > MAX_PAGE_BYTES:
                break
            kept.append(found)
        events = tuple(decode_event(body) for _, _, body in kept)
        more = len(rows) > len(kept)
        return MemoryPage(events, f"{kept[-1][0]}.{kept[-1][1]}" if more else "", deleted)

    def close(self) -> None:
        """Wait for the reads that run and end the threads."""
        self._threads.shutdown()


def _parse(cursor: str) -> tuple[int, int]:
    if not cursor:
        return -1, -1
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidCommand("cursor is not one that a page returned", code="invalid_cursor")
    return int(match[1]), int(match[2])
