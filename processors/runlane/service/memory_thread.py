"""A memory sink on a thread of its own, with its health and its metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from runlane.contract.codec import Codec
from runlane.contract.topics import Topics
from runlane.kafka import GroupSettings, KafkaConfig
from runlane.owner.owner import SystemClock, SystemIds
from runlane.service.health import Faults
from runlane.service.metrics import process_registry
from runlane.service.role_thread import RoleThread
from runlane.store.block import LogId
from runlane.store.engine import ClientPool
from runlane.store.memory import KafkaMemoryLog, MemoryPorts, MemorySink, MemoryTable, SinkBounds
from runlane.store.stops import Stop, StopKind

_ADOPT: Final = "runlane memory-sink --adopt-log"
ADOPTABLE: Final = frozenset(
    {
        StopKind.LOG_REPLACED,
        StopKind.LOG_TRIMMED,
        StopKind.LOG_TRUNCATED,
        StopKind.TIP_CHANGED,
        StopKind.LOG_BEGINS_LATE,
    }
)
"""The stops that say that the log is another one than the chain's."""


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """What a memory sink is made of. ``log`` names the embedded broker; None: the group shares a real one."""

    kafka: KafkaConfig
    topics: Topics
    group: GroupSettings
    pool: ClientPool
    journal_id: str
    codec: Codec
    adopts: frozenset[StopKind] = frozenset()
    log: LogId | None = None


class MemoryThread(RoleThread):
    """Stores memory from entering to leaving: ``with MemoryThread(parts) as memory: memory.ended.wait()``."""

    name = "memory sink"
    subject = "memory partition"

    def __init__(self, parts: MemoryParts) -> None:
        bounds = SinkBounds()
        log = KafkaMemoryLog(parts.kafka, topics=parts.topics, group=parts.group, log=parts.log)
        table = MemoryTable(parts.pool, parts.journal_id, max_execution=bounds.max_execution)
        ports = MemoryPorts(log, table, SystemClock(), SystemIds())
        self.sink = MemorySink(ports, adopts=parts.adopts, bounds=bounds, codec=parts.codec)
        super().__init__(self.sink, log)

    @property
    def open_partitions(self) -> int:
        """How many partitions are stored now."""
        return self.sink.open_partitions

    def answer_of(self, stop: Stop) -> str:
        """Return the command that an operator may answer a sink's stop with."""
        if stop.kind in ADOPTABLE:
            return _ADOPT
        return "runlane repair --memory" if stop.kind is StopKind.BLOCK_MISSING else stop.answer

    def faults(self) -> Faults:
        """Say what is wrong: stopped partitions, or none at all."""
        found = {f"memory partition {number}": stop for number, stop in self.stops().items()}
        if not self.sink.open_partitions:
            found["memory-sink"] = "no partition is open"
        return found

    def registry(self) -> CollectorRegistry:
        """Return a registry with the sink's metrics and those of its process."""
        return process_registry(_SinkCollector(self.sink))


class _SinkCollector(Collector):
    def __init__(self, sink: MemorySink) -> None:
        self._sink = sink

    def collect(self) -> Iterable[Metric]:
        yield CounterMetricFamily(
            "runlane_memory_messages", "Messages stored and answered.", value=self._sink.stored
        )
        yield GaugeMetricFamily(
            "runlane_memory_erases_waiting",
            "Runs with deleted events that are not erased.",
            value=self._sink.erases_waiting,
        )
        yield CounterMetricFamily(
            "runlane_memory_erases_failed",
            "Steps of erasing that failed; tried again.",
            value=self._sink.erases_failed,
        )
        yield GaugeMetricFamily(
            "runlane_memory_open_partitions", "Partitions that are read.", value=self._sink.open_partitions
        )
        yield GaugeMetricFamily(
            "runlane_memory_stopped_partitions", "Stopped partitions.", value=len(self._sink.stops())
        )
