"""The feed: committed records become stream events and activity windows (design, Flow).

    feed = Feed(FeedConfig(kafka, topics, "runlane-feed"), JournalHistory(pool))
    feed.run()

A read side only: whatever it does can be done again, and changes nothing that a reader sees.
"""

from runlane.feed.again import tell_again
from runlane.feed.feed import Feed, FeedConfig
from runlane.feed.history import History, JournalHistory
from runlane.feed.partition import FeedCounts, Outlet, PartitionFeed, Place, Received

__all__ = [
    "Feed",
    "FeedConfig",
    "FeedCounts",
    "History",
    "JournalHistory",
    "Outlet",
    "PartitionFeed",
    "Place",
    "Received",
    "tell_again",
]
