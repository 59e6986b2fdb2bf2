"""The rows of memory, in the orders in which they are judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from runlane.service.verify.memory_runs import RunRow
from runlane.service.verify.report import MEMORY
from runlane.service.verify.rows import MEMORY_COLUMNS, MemoryRow
from runlane.service.verify.source import QueryClient, TableSource


class MemorySource(Protocol):
    """The rows of memory, in the orders in which they are judged."""

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions that have blocks."""
        ...

    def chain(self, partition: int) -> Iterator[MemoryRow]:
        """Yield all rows of a partition in generation, block and row order."""
        ...

    def runs(self) -> Iterator[RunRow]:
        """Yield appends, deletions and events, grouped by agent and run, in the order of positions.

        All of a run are of one moment, and every deletion of that moment is there: what an erase removed of
        the run was deleted before.
        """
        ...


class MemoryTable(TableSource):
    """Implements ``MemorySource`` over the table; all reads but those of deletions end at the same blocks."""

    def __init__(self, client: QueryClient) -> None:
        super().__init__(client, MEMORY)

    def chain(self, partition: int) -> Iterator[MemoryRow]:
        """As ``MemorySource.chain``."""
        return map(MemoryRow._make, self._chain(partition, MEMORY_COLUMNS))

    def runs(self) -> Iterator[RunRow]:
        """As ``MemorySource.runs``."""
        kinds = f"(kind = 'delete' OR (kind IN ('append', 'event') AND {self._bounds()}))"
        for runs in self._ranges(kinds, ("agent_id", "run_id")):
            yield from map(RunRow._make, self._rows(RunRow._fields, runs, "agent_id, run_id, position"))
