"""A feed on a thread of its own, with its health and its metrics."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import fields
from types import TracebackType
from typing import Final, Self

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from runlane.feed import Feed, FeedConfig, FeedCounts, History
from runlane.service.health import PATIENCE_SECONDS, Faults

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


class FeedThread:
    """Feeds from entering to leaving: ``with FeedThread(config, history) as feed: feed.ended.wait()``.

    ``failure`` is what ended it before it was asked to, and ``ended`` is set then.
    """

    def __init__(
        self, config: FeedConfig, history: History, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.feed = Feed(config, history)
        self.failure: BaseException | None = None
        self.ended = threading.Event()
        self._clock = clock
        self._done = -1
        self._moved_at = clock()
        self._thread = threading.Thread(target=self._run, name="feed")

    def __enter__(self) -> Self:
        """Start to feed."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Deliver what is in hand, commit, then leave the group."""
        self.feed.stop()
        self._thread.join()

    def check(self) -> None:
        """Raise what ended the feed, if anything did."""
        if self.failure is not None:
            raise self.failure

    def faults(self) -> Faults:
        """Say what is wrong: no partition, or messages that wait while none is done."""
        now, feed = self._clock(), self.feed
        if feed.passed != self._done or not feed.waiting:
            self._done, self._moved_at = feed.passed, now
        if self.ended.is_set():
            return {"feed": "it has ended"}
        if not feed.partitions:
            return {"feed": "no partition is assigned"}
        if now - self._moved_at > PATIENCE_SECONDS:
            return {"feed": "records wait and none is fed"}
        return {}

    def registry(self) -> CollectorRegistry:
        """Return a registry with the feed's metrics and those of its process."""
        registry = CollectorRegistry()
        registry.register(_FeedCollector(self.feed))
        ProcessCollector(registry=registry)
        return registry

    def _run(self) -> None:
        try:
            self.feed.run()
        except BaseException as failure:  # noqa: BLE001 - the main thread raises it and chooses the exit code
            self.failure = failure
        finally:
            self.ended.set()


class _FeedCollector(Collector):
    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def collect(self) -> Iterable[Metric]:
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"runlane_feed_{name}", text, value=getattr(self._feed.counts, name))
        yield GaugeMetricFamily("runlane_feed_partitions", "Partitions that are read.", self._feed.partitions)
        yield GaugeMetricFamily("runlane_feed_waits", "1 while records wait.", float(self._feed.waiting))
