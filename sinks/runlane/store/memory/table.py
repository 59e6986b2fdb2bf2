"""The store port over ClickHouse: the table of memory, its chains, and the erase of what was deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from runlane.store.block import Block
from runlane.store.chain import ChainEnd, Chains, ChainTip
from runlane.store.engine import ClientPool
from runlane.store.flight import InsertReport
from runlane.store.memory.ports import Named, Run
from runlane.store.memory.rows import MEMORY
from runlane.store.sql import names, slices
from runlane.store.writer import BlockWriter

_KNOWN: Final = """
SELECT agent_id, run_id, append_key, position, digest FROM memory_events
WHERE kind IN ('append', 'delete') AND (agent_id, run_id, append_key) IN ({named})
"""
_DELETED: Final = "SELECT agent_id, run_id, max(position) AS deleted FROM memory_events WHERE kind = 'delete'"
_PENDING: Final = f"""
SELECT DISTINCT agent_id, run_id FROM memory_events
INNER JOIN (
    {_DELETED} AND partition = {{partition:UInt32}} GROUP BY agent_id, run_id
) AS gone USING (agent_id, run_id)
WHERE kind = 'event' AND position < deleted
ORDER BY agent_id, run_id
"""  # noqa: S608
_OF_RUN: Final = "agent_id = {agent:String} AND run_id = {run:String}"
_UP_TO: Final = f"SELECT max(position) FROM memory_events WHERE {_OF_RUN} AND kind = 'delete'"  # noqa: S608
_OLDER: Final = f"{_OF_RUN} AND kind = 'event' AND position < {{deleted:Int64}}"
_ANY_OLDER: Final = f"SELECT 1 FROM memory_events WHERE {_OLDER} LIMIT 1"  # noqa: S608
_ERASE: Final = f"ALTER TABLE memory_events DELETE WHERE {_OLDER}"
_RUNNING: Final = """
SELECT count() FROM system.mutations
WHERE database = currentDatabase() AND table = 'memory_events' AND NOT is_done
"""
_IN_BACKGROUND: Final = {"mutations_sync": 0}


class MemoryTable:
    """The memory of one database. ``max_execution`` is that of the sink's bounds."""

    def __init__(self, pool: ClientPool, journal_id: str, *, max_execution: float) -> None:
        self._pool = pool
        self._chains = Chains(pool, MEMORY)
        self._writer = BlockWriter(pool, journal_id, table=MEMORY, max_execution_time=int(max_execution))

    def end(self, partition: int) -> ChainEnd:
        """As ``MemoryStorePort.end``."""
        return self._chains.end(partition)

    def recorded_partition_count(self) -> int | None:
        """As ``MemoryStorePort.recorded_partition_count``."""
        return self._chains.recorded_partition_count()

    def insert(self, block: Block, not_after: datetime) -> InsertReport:
        """As ``MemoryStorePort.insert``."""
        return self._writer.report(block, not_after)

    def tips(self, floors: Mapping[int, int]) -> Mapping[int, ChainTip]:
        """As ``MemoryStorePort.tips``."""
        return self._chains.tips(floors)

    def known(self, named: Sequence[Named]) -> Mapping[Named, tuple[int, bytes]]:
        """As ``MemoryStorePort.known``."""
        return {
            (agent, run, key): (int(position), bytes.fromhex(digest))
            for wanted in slices(sorted(set(named)))
            for agent, run, key, position, digest in self._rows(wanted)
        }

    def pending_erases(self, partition: int) -> Sequence[Run]:
        """As ``MemoryStorePort.pending_erases``."""
        return [(agent, run) for agent, run in self._pool.query(_PENDING, {"partition": partition})]

    def erase(self, run: Run) -> bool:
        """As ``MemoryStorePort.erase``; one mutation at a time."""
        parameters: dict[str, str | int] = {"agent": run[0], "run": run[1]}
        parameters["deleted"] = int(self._pool.query(_UP_TO, parameters)[0][0])
        if not self._pool.query(_ANY_OLDER, parameters):
            return True
        if not self._pool.query(_RUNNING)[0][0]:
            self._pool.command(_ERASE, parameters, settings=_IN_BACKGROUND)
        return False

    def start_generation(self, partition: int, generation: int) -> None:
        """As ``MemoryStorePort.start_generation``."""
        self._chains.start_generation(partition, generation)

    def _rows(self, wanted: Sequence[Named]) -> Iterator[Sequence[str]]:
        yield from self._pool.query(_KNOWN.format(named=", ".join(map(names, wanted))))
