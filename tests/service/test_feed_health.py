"""A feed is ready while it gets on: records that wait and are not done with are a fault, soon."""

from __future__ import annotations

from typing import cast

from runlane.contract.topics import Topics
from runlane.feed import FeedConfig, History
from runlane.kafka import KafkaConfig
from runlane.service.feed_thread import FeedThread
from runlane.service.health import PATIENCE_SECONDS


def test_records_that_wait_are_a_fault_unless_some_are_done_with() -> None:
    now = [0.0]
    config = FeedConfig(KafkaConfig("127.0.0.1:9"), Topics(), "g")
    thread = FeedThread(config, cast("History", None), clock=lambda: now[0])
    feed = thread.feed
    assert thread.faults() == {"feed": "no partition is assigned"}

    feed.partitions, feed.waiting = 1, True
    assert thread.faults() == {}
    now[0] += PATIENCE_SECONDS + 1
    # Reading again what cannot be delivered is no progress.
    feed.counts.messages += 500
    assert thread.faults() == {"feed": "records wait and none is fed"}

    feed.passed += 1
    assert thread.faults() == {}
    now[0] += PATIENCE_SECONDS + 1
    feed.waiting = False
    assert thread.faults() == {}
