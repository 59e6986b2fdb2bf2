"""The log port over Kafka."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from runlane.contract.codec import Headers
from runlane.contract.errors import Overloaded, TopicMismatch, Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import Admin, Consumer, GroupSettings, Inspector, KafkaConfig, Partition, Polled, Producer
from runlane.store.block import LogId, message_digest
from runlane.store.memory.ports import MemoryLogShape
from runlane.store.stops import LogFacts

_LINGER_MS: Final = 1.0
_FETCH_WAIT_MS: Final = 20


class KafkaMemoryLog:
    """The memory topic as its sink sees it.

    With ``log`` (the embedded broker has no identity of its own) every partition is assigned to this process;
    without, the group shares them out and the cluster says which log it is.
    """

    def __init__(
        self, config: KafkaConfig, *, topics: Topics, group: GroupSettings, log: LogId | None = None
    ) -> None:
        self._topic = topics.memory.name
        self._outcomes = topics.outcomes.name
        self._log = log
        self._admin = Admin(config)
        self._inspector = Inspector(config, group=group.group)
        self._producer = Producer(config, background=True, linger_ms=_LINGER_MS)
        self._consumer = Consumer(config, group=group, fetch_wait_ms=_FETCH_WAIT_MS)

    def begin(
        self, assigned: Callable[[Sequence[int]], None], revoked: Callable[[Sequence[int]], None]
    ) -> None:
        """As ``MemoryLogPort.begin``."""
        if self._log is None:
            self._consumer.subscribe(
                [self._topic],
                on_assign=lambda places: assigned(_numbers(places)),
                on_revoke=lambda places: revoked(_numbers(places)),
                on_lost=lambda places: revoked(_numbers(places)),
            )
            return
        numbers = range(self._count(self._topic))
        self._consumer.assign({self._place(number): 0 for number in numbers})
        self._consumer.pause([self._place(number) for number in numbers])
        assigned(numbers)

    def poll(self, max_messages: int, timeout: float) -> Polled:
        """As ``MemoryLogPort.poll``."""
        return self._consumer.poll(max_messages, timeout)

    def start(self, partition: int, offset: int) -> None:
        """As ``MemoryLogPort.start``."""
        self._consumer.start(self._place(partition), offset)

    def commit(self, partition: int, offset: int) -> None:
        """As ``MemoryLogPort.commit``."""
        with suppress(Unavailable):
            self._consumer.commit({self._place(partition): offset})

    def answer(self, reply_partition: int, value: bytes, headers: Headers) -> None:
        """As ``MemoryLogPort.answer``; raises ``FatalKafkaError``."""
        with suppress(Overloaded, TopicMismatch, Unavailable):
            self._producer.produce(self._outcomes, value, headers=headers, partition=reply_partition)

    def shape(self) -> MemoryLogShape:
        """As ``MemoryLogPort.shape``; a topic that is not there may be one that is being made anew."""
        log = self._log
        if log is None:
            try:
                identity = self._admin.identity(self._topic)
            except TopicMismatch as missing:
                raise Unavailable(missing.message) from missing
            log = LogId(identity.cluster_id, identity.topic_id)
        return MemoryLogShape(log, self._count(self._topic), self._count(self._outcomes))

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        """As ``MemoryLogPort.facts``; the group's offset is no fact here, since it decides nothing."""
        place = self._place(partition)
        low, high = self._inspector.watermarks(place)
        tip = self._inspector.message_at(place, tip_offset) if low <= tip_offset < high else None
        digest = None if tip is None else message_digest(tip.key, tip.value)
        return LogFacts(self.shape().log, low, high, committed=None, tip_digest=digest)

    def close(self) -> None:
        """Leave the group and let everything go; what was queued is sent first."""
        self._consumer.close()
        self._producer.close()
        self._inspector.close()

    def _place(self, partition: int) -> Partition:
        return Partition(self._topic, partition)

    def _count(self, topic: str) -> int:
        count = self._admin.partition_counts().get(topic)
        if count is None:
            raise Unavailable(f"topic {topic} is not there")
        return count


def _numbers(places: Sequence[Partition]) -> list[int]:
    return [place.number for place in places]
