"""All records of a run, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Protocol

from runlane.contract.values import CommittedRecord, Page, RunMeta

PAGE_SIZE: Final = 500

ReadPage = Callable[[str, str, int], Awaitable[Page]]
"""Returns the page of a run after a cursor: ``list_run_records`` of a reader."""


class RunReader(Protocol):
    """The two reads of one run; every ``Reader`` and ``RunStore`` has them."""

    async def load_run(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        ...

    async def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        """Return a page of a run, oldest first; ``RunNotFound``."""
        ...


async def run_records(read: ReadPage, run_id: str) -> AsyncIterator[CommittedRecord]:
    """Iterate over a run's records in commit order; what ``read`` raises passes through."""
    cursor = ""
    while True:
        page = await read(run_id, cursor, PAGE_SIZE)
        for record in page.records:
            yield record
        cursor = page.next_cursor
        if not cursor:
            return
