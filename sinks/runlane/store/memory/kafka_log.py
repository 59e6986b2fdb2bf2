"""The log port over Kafka: the memory topic, and the outcomes that a sink sends."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from runlane.contract.codec import Headers
from runlane.contract.errors import Overloaded, TopicMismatch, Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import GroupSettings, KafkaConfig
from runlane.store.block import LogId
from runlane.store.stops import LogFacts
from runlane.store.topic_log import TopicLog


class KafkaMemoryLog(TopicLog):
    """The memory topic as its sink sees it: a ``MemoryLogPort``."""

    def __init__(
        self, config: KafkaConfig, *, topics: Topics, group: GroupSettings, log: LogId | None = None
    ) -> None:
        super().__init__(
            config,
            topic=topics.memory.name,
            outcomes=topics.outcomes.name,
            group=group,
            log=log,
        )

    def answer(self, reply_partition: int, value: bytes, headers: Headers) -> None:
        """As ``MemoryLogPort.answer``; raises ``FatalKafkaError`` and ``KafkaNotPermitted``."""
        with suppress(Overloaded, TopicMismatch, Unavailable):
            self._producer.produce(
                self._outcomes,
                value,
                headers=headers,
                partition=reply_partition,
            )

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        """As ``MemoryLogPort.facts``; the group's offset is no fact here, since it decides nothing."""
        return replace(super().facts(partition, tip_offset), committed=None)
