"""Streams of what is committed, as it is committed: history and the records topic as one (design, Topics)."""

from runlane.gateway.live.activity import Activity, ActivitySink, ActivitySource
from runlane.gateway.live.activity_source import KafkaActivitySource
from runlane.gateway.live.live import Live
from runlane.gateway.live.ports import Happened, History, LaneDelta, Sink, Source
from runlane.gateway.live.source import KafkaSource

__all__ = [
    "Activity",
    "ActivitySink",
    "ActivitySource",
    "Happened",
    "History",
    "KafkaActivitySource",
    "KafkaSource",
    "LaneDelta",
    "Live",
    "Sink",
    "Source",
]
