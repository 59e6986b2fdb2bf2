"""The store port over ClickHouse: the journal's writer and readers, a connection for each thread."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime

from runlane.contract.decide import LaneState
from runlane.contract.state import KeyEntry
from runlane.owner.durations import Durations
from runlane.store.block import SealedBlock
from runlane.store.chain import ChainEnd, ChainReader, ChainTip, OutboxPage
from runlane.store.engine import ClientPool
from runlane.store.erase import Eraser
from runlane.store.flight import InsertReport
from runlane.store.lanes import LaneReader
from runlane.store.writer import BlockWriter


class JournalStore:
    """The journal of one database. ``max_execution`` is that of the owner's bounds.

    ``insert_seconds`` counts how long each insert took, whatever became of it.
    """

    def __init__(self, pool: ClientPool, journal_id: str, *, max_execution: float) -> None:
        self._writer = BlockWriter(pool, journal_id, max_execution_time=int(max_execution))
        self._chains = ChainReader(pool)
        self._lanes = LaneReader(pool)
        self._eraser = Eraser(pool)
        self.insert_seconds = Durations()

    def end(self, partition: int) -> ChainEnd:
        """As ``StorePort.end``."""
        return self._chains.end(partition)

    def insert(self, block: SealedBlock, not_after: datetime) -> InsertReport:
        """As ``StorePort.insert``."""
        begun = time.monotonic()
        try:
            return self._writer.report(block, not_after)
        finally:
            self.insert_seconds.add(time.monotonic() - begun)

    def tips(self, floors: Mapping[int, int]) -> Mapping[int, ChainTip]:
        """As ``StorePort.tips``."""
        return self._chains.tips(floors)

    def outbox(self, partition: int, after: int, to: int, max_bytes: int) -> OutboxPage:
        """As ``StorePort.outbox``."""
        return self._chains.outbox(partition, after, to, max_bytes)

    def load_lanes(self, lanes: Sequence[str], max_bytes: int) -> Mapping[str, LaneState]:
        """As ``StorePort.load_lanes``."""
        return self._lanes.load_lanes(lanes, max_bytes=max_bytes)

    def load_keys(self, lane: str, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], KeyEntry]:
        """As ``StorePort.load_keys``."""
        return self._lanes.load_keys(lane, pairs)

    def recorded_partition_count(self) -> int | None:
        """As ``StorePort.recorded_partition_count``."""
        return self._chains.recorded_partition_count()

    def active_parts(self) -> int:
        """As ``StorePort.active_parts``."""
        return self._chains.active_parts()

    def pending_erases(self, partition: int) -> Sequence[str]:
        """As ``StorePort.pending_erases``."""
        return self._eraser.pending(partition)

    def erase(self, lane: str) -> bool:
        """As ``StorePort.erase``."""
        return self._eraser.erase(lane)

    def start_generation(self, partition: int, generation: int) -> None:
        """As ``StorePort.start_generation``."""
        self._chains.start_generation(partition, generation)
