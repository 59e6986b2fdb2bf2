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
        owner = self._owner
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"runlane_{name}", text, value=getattr(owner.stats, name))
        yield _histogram(
            "runlane_commit_seconds",
            "From a block's first command to its commit, read back.",
            owner.commit_seconds,
        )
        yield _histogram("runlane_insert_seconds", "One INSERT of a block.", self._insert_seconds)
        errors = CounterMetricFamily(
            "runlane_read_errors", "Errors of Kafka that the reader goes on after.", labels=["error"]
        )
        for name, count in self._read_errors().items():
            errors.add_metric([name], count)
        yield errors
        yield GaugeMetricFamily(
            "runlane_cached_bytes", "Accounted memory of the lanes in the cache.", value=owner.cached_bytes
        )
        yield GaugeMetricFamily(
            "runlane_work_waits",
            "1 while commands wait or a chain is taken over.",
            value=float(owner.waiting),
        )
        yield GaugeMetricFamily(
            "runlane_erases_waiting", "Purged lanes that still have rows.", value=owner.erases.waiting
        )
        yield CounterMetricFamily(
            "runlane_lanes_erased", "Purged lanes that have none any more.", value=owner.erases.erased
        )
        yield CounterMetricFamily(
            "runlane_erases_failed", "Steps of erasing that failed; tried again.", value=owner.erases.failed
        )
        phases = Counter(owner.phases().values())
        partitions = GaugeMetricFamily("runlane_partitions", "Partitions by phase.", labels=["phase"])
        for phase in Phase:
            partitions.add_metric([phase.value], phases[phase])
        yield partitions
        kinds = Counter(stop.kind for stop in owner.stops().values())
        stops = GaugeMetricFamily(
            "runlane_stopped_partitions", "Stopped partitions by stop.", labels=["stop"]
        )
        for kind in StopKind:
            stops.add_metric([kind.value], kinds[kind])
        yield stops


def _histogram(name: str, text: str, durations: Durations) -> HistogramMetricFamily:
    counts, total = durations.read()
    bounds = [*map(str, BOUNDS), "+Inf"]
    return HistogramMetricFamily(name, text, buckets=list(zip(bounds, counts, strict=True)), sum_value=total)
