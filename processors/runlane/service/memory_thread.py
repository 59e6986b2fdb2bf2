"""A memory sink on a thread of its own, with its health and a log of its stops."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from runlane.contract.codec import Codec
from runlane.contract.errors import Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import GroupSettings, KafkaConfig
from runlane.owner.owner import SystemClock, SystemIds
from runlane.service.health import Faults
from runlane.store.block import LogId
from runlane.store.engine import ClientPool
from runlane.store.memory import KafkaMemoryLog, MemoryPorts, MemorySink, MemoryTable, SinkBounds
from runlane.store.stops import Stop, StopKind

_STEP_SECONDS: Final = 0.02
_LOOK_SECONDS: Final = 1.0
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


def answer_of(stop: Stop) -> str:
    """Return the command that an operator may answer a sink's stop with."""
    if stop.kind in ADOPTABLE:
        return _ADOPT
    return "runlane repair --memory" if stop.kind is StopKind.BLOCK_MISSING else stop.answer


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


class MemoryThread:
    """Stores memory from entering to leaving: ``with MemoryThread(parts) as memory: memory.ended.wait()``.

    ``failure`` is what ended it before it was asked to, and ``ended`` is set then.
    """

    def __init__(self, parts: MemoryParts) -> None:
        bounds = SinkBounds()
        self._log = KafkaMemoryLog(parts.kafka, topics=parts.topics, group=parts.group, log=parts.log)
        table = MemoryTable(parts.pool, parts.journal_id, max_execution=bounds.max_execution)
        ports = MemoryPorts(self._log, table, SystemClock(), SystemIds())
        self.sink = MemorySink(ports, adopts=parts.adopts, bounds=bounds, codec=parts.codec)
        self.failure: BaseException | None = None
        self.ended = threading.Event()
        self._leaving = threading.Event()
        self._told: Mapping[int, Stop] = {}
        self._threads = [
            threading.Thread(target=self._run, name="memory-sink"),
            threading.Thread(target=self._tell, name="memory-sink-company"),
        ]

    def __enter__(self) -> Self:
        """Start to store."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the poll under way, then let every partition go."""
        self._leaving.set()
        self.sink.stop()
        for thread in self._threads:
            thread.join()
        self._log.close()

    def wait_until_open(self, partitions: int, seconds: float) -> None:
        """Wait until that many partitions are open; ``Unavailable`` when they are not in time."""
        waited = 0.0
        while self.sink.open_partitions < partitions:
            self.check()
            if waited >= seconds:
                reasons = "; ".join(f"{stop.kind}: {answer_of(stop)}" for stop in self.sink.stops().values())
                raise Unavailable(
                    f"the memory sink did not open its partitions ({reasons or 'time is over'})"
                )
            waited += _STEP_SECONDS
            self.ended.wait(_STEP_SECONDS)

    def check(self) -> None:
        """Raise what ended the sink, if anything did."""
        if self.failure is not None:
            raise self.failure

    def faults(self) -> Faults:
        """Say what is wrong: stopped partitions, or none at all."""
        stops = self.sink.stops().items()
        found = {f"memory partition {number}": f"{stop.kind}: {answer_of(stop)}" for number, stop in stops}
        if not self.sink.open_partitions:
            found["memory-sink"] = "no partition is open"
        return found

    def registry(self) -> CollectorRegistry:
        """Return a registry with the sink's metrics and those of its process."""
        registry = CollectorRegistry()
        registry.register(_SinkCollector(self.sink))
        ProcessCollector(registry=registry)
        return registry

    def _run(self) -> None:
        try:
            self.sink.run()
        except BaseException as failure:  # noqa: BLE001 - the main thread raises it and chooses the exit code
            self.failure = failure
        finally:
            self.ended.set()

    def _tell(self) -> None:
        log = structlog.get_logger(__name__)
        while not self._leaving.wait(_LOOK_SECONDS):
            stops = dict(self.sink.stops())
            for number, stop in stops.items():
                if self._told.get(number) != stop:
                    log.error(
                        "memory partition stopped",
                        partition=number,
                        stop=stop.kind.value,
                        reason=stop.message,
                        answer=answer_of(stop),
                    )
            self._told = stops


class _SinkCollector(Collector):
    def __init__(self, sink: MemorySink) -> None:
        self._sink = sink

    def collect(self) -> Iterable[Metric]:
        yield CounterMetricFamily(
            "runlane_memory_messages", "Messages stored and answered.", value=self._sink.stored
        )
        yield GaugeMetricFamily(
            "runlane_memory_open_partitions", "Partitions that are read.", value=self._sink.open_partitions
        )
        yield GaugeMetricFamily(
            "runlane_memory_stopped_partitions", "Stopped partitions.", value=len(self._sink.stops())
        )
