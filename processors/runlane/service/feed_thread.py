"""A feed on a thread of its own, with its health and its metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from runlane.feed import Feed, FeedConfig, FeedCounts, History
from runlane.service.background import Background
from runlane.service.health import Faults, Progress, Pulse
from runlane.service.metrics import process_registry

COUNTERS: Final = {
    "messages": "Messages of the records topic that were read.",
    "records": "Records mapped and folded, those read from the journal included.",
    "events": "Events sent to the stream.",
    "shares": "Shares of activity windows sent.",
    "unmapped": "Records that have no stream event because they break a rule.",
    "undecodable": "Messages of the records topic that are no records.",
    "holes": "Times that records were read from the journal, since the topic had a hole.",
}
assert {field.name for field in fields(FeedCounts)} == set(COUNTERS)


class FeedThread(Background):
    """Feeds from entering to leaving: ``with FeedThread(config, history) as feed: feed.ended.wait()``."""

    def __init__(
        self, config: FeedConfig, history: History, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.feed = Feed(config, history)
        self._progress = Progress(self._pulse, role="feed", stuck="records wait and none is fed", clock=clock)
        super().__init__("feed", self.feed)

    def faults(self) -> Faults:
        """Say what is wrong: no partition, or messages that wait while none is done."""
        return {"feed": "it has ended"} if self.ended.is_set() else self._progress.faults()

    def registry(self) -> CollectorRegistry:
        """Return a registry with the feed's metrics and those of its process."""
        return process_registry(_FeedCollector(self.feed))

    def _pulse(self) -> Pulse:
        feed = self.feed
        return Pulse(partitions=feed.partitions, done=feed.passed, waiting=feed.waiting)


class _FeedCollector(Collector):
    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def collect(self) -> Iterable[Metric]:
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"runlane_feed_{name}", text, value=getattr(self._feed.counts, name))
        yield GaugeMetricFamily("runlane_feed_partitions", "Partitions that are read.", self._feed.partitions)
        yield GaugeMetricFamily("runlane_feed_waits", "1 while records wait.", float(self._feed.waiting))
