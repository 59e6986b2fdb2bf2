"""Tell again what was told before: stream and activity made anew out of the journal, without the topic."""

from __future__ import annotations

from datetime import datetime

from runlane.contract.topics import Topics
from runlane.feed.deliveries import Deliveries
from runlane.feed.history import History
from runlane.feed.order import NOTHING
from runlane.feed.partition import FeedCounts, PartitionFeed, Place
from runlane.kafka import Admin, KafkaConfig


def tell_again(kafka: KafkaConfig, topics: Topics, history: History, since: datetime) -> FeedCounts:
    """Send the events and windows of all that was committed at ``since`` or later; return once they arrived.

    Readers see nothing new: events have the same identity and bytes, windows are those that they have. Raises
    ``Unavailable`` when broker or journal does not answer.
    """
    counts = FeedCounts()
    with Deliveries(kafka, topics) as out:
        for partition in range(Admin(kafka).partition_counts()[topics.records.name]):
            first = history.block_since(partition, since)
            if first is not None:
                feed = PartitionFeed(Place(partition, 0, NOTHING, since), history, out, counts)
                feed.recover(first, history.last_block(partition))
                out.settle()
    return counts
