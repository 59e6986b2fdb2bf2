"""Streams of what is committed, as it is committed: history and the records topic as one (design, Topics)."""

from runlane.gateway.live.live import Live
from runlane.gateway.live.ports import Happened, History, LaneDelta, Sink, Source
from runlane.gateway.live.source import KafkaSource

__all__ = ["Happened", "History", "KafkaSource", "LaneDelta", "Live", "Sink", "Source"]
