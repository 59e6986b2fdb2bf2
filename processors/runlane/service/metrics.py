"""What an owner counts, in Prometheus' words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from runlane.owner.chain import Phase
from runlane.owner.durations import BOUNDS, Durations
from runlane.owner.erase import Eraser
from runlane.owner.owner import Owner
from runlane.owner.shared import Stats
from runlane.store.stops import StopKind

COUNTERS: Final = {
    "commands": "Commands decided, committed and answered.",
    "refused": "Of those, the refused ones.",
    "records": "Records committed.",
    "blocks": "Blocks committed, claims included.",
    "claims": "Chains taken over.",
    "ownerships_lost": "Ownerships that ended because another owner's block was there.",
    "deliveries_failed": "Ownerships that ended because an outcome or a record did not reach the broker.",
    "positions_skipped": "Positions journaled as lost.",
    "lanes_loaded": "Lanes read from the journal into the cache.",
}
assert {field.name for field in fields(Stats)} == set(COUNTERS)


def process_registry(collector: Collector) -> CollectorRegistry:
    """Return a registry with what ``collector`` collects and the metrics of this process."""
    registry = CollectorRegistry()
    registry.register(collector)
    ProcessCollector(registry=registry)
    return registry


class OwnerCollector(Collector):
    """Reads an owner's counts whenever they are asked for, and those of its store and its log."""

    def __init__(
        self, owner: Owner, *, insert_seconds: Durations, read_errors: Callable[[], Mapping[str, int]]
    ) -> None:
        self._owner = owner
        self._insert_seconds = insert_seconds
        self._read_errors = read_errors

    def collect(self) -> Iterable[Metric]:
        """Yield every metric."""
        yield from _counters(self._owner.stats)
        yield _histogram(
            "runlane_commit_seconds",
            "From a block's first command to its commit, read back.",
            self._owner.commit_seconds,
        )
        yield _histogram("runlane_insert_seconds", "One INSERT of a block.", self._insert_seconds)
        yield _labelled(
            CounterMetricFamily(
                "runlane_read_errors", "Errors of Kafka that the reader goes on after.", labels=["error"]
            ),
            self._read_errors(),
        )
        yield from _work(self._owner)
        yield from _erases(self._owner.erases)
        yield from _partitions(self._owner)


def _counters(stats: Stats) -> Iterable[Metric]:
    for name, text in COUNTERS.items():
        yield CounterMetricFamily(f"runlane_{name}", text, value=getattr(stats, name))


def _work(owner: Owner) -> Iterable[Metric]:
    yield GaugeMetricFamily(
        "runlane_cached_bytes", "Accounted memory of the lanes in the cache.", value=owner.cached_bytes
    )
    yield GaugeMetricFamily(
        "runlane_work_waits", "1 while commands wait or a chain is taken over.", value=float(owner.waiting)
    )


def _erases(erases: Eraser) -> Iterable[Metric]:
    yield GaugeMetricFamily(
        "runlane_erases_waiting", "Purged lanes that still have rows.", value=erases.waiting
    )
    yield CounterMetricFamily(
        "runlane_lanes_erased", "Purged lanes that have none any more.", value=erases.erased
    )
    yield CounterMetricFamily(
        "runlane_erases_failed", "Steps of erasing that failed; tried again.", value=erases.failed
    )


def _partitions(owner: Owner) -> Iterable[Metric]:
    phases = Counter(owner.phases().values())
    yield _labelled(
        GaugeMetricFamily("runlane_partitions", "Partitions by phase.", labels=["phase"]),
        {phase.value: phases[phase] for phase in Phase},
    )
    kinds = Counter(stop.kind for stop in owner.stops().values())
    yield _labelled(
        GaugeMetricFamily("runlane_stopped_partitions", "Stopped partitions by stop.", labels=["stop"]),
        {kind.value: kinds[kind] for kind in StopKind},
    )


def _labelled(family: CounterMetricFamily | GaugeMetricFamily, values: Mapping[str, int]) -> Metric:
    for label, value in values.items():
        family.add_metric([label], value)
    return family


def _histogram(name: str, text: str, durations: Durations) -> HistogramMetricFamily:
    counts, total = durations.read()
    bounds = [*map(str, BOUNDS), "+Inf"]
    return HistogramMetricFamily(name, text, buckets=list(zip(bounds, counts, strict=True)), sum_value=total)
