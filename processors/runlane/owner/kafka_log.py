"""The log port over Kafka: a consumer owned by the poll thread, a producer, an inspector for workers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from runlane.contract.errors import Overloaded, RunlaneError, TopicMismatch, Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import (
    Admin,
    Consumer,
    GroupSettings,
    Inspector,
    KafkaConfig,
    Partition,
    Polled,
    Producer,
)
from runlane.owner.ports import LogShape, Outgoing, OutTopic
from runlane.store.block import LogId, message_digest
from runlane.store.stops import LogFacts

_LINGER_MS: Final = 1.0
_FETCH_WAIT_MS: Final = 50
"""A broker answers a waiting fetch as soon as something arrives; each fetch less saves it work."""
_EMBEDDED_FETCH_WAIT_MS: Final = 5
"""The embedded broker does not: there a fetch's wait is the latency."""


class KafkaLog:
    """The commands topic as an owner sees it.

    With ``log`` (the embedded broker has no identity of its own) every partition is assigned to this process;
    without, the group shares them out and the cluster says which log it is.
    """

    def __init__(
        self, config: KafkaConfig, *, topics: Topics, group: GroupSettings, log: LogId | None = None
    ) -> None:
        self._commands = topics.commands.name
        self._outcomes = topics.outcomes.name
        self._names = {
            OutTopic.OUTCOMES: topics.outcomes.name,
            OutTopic.RECORDS: topics.records.name,
            OutTopic.REJECTED: topics.rejected.name,
        }
        self._log = log
        self._admin = Admin(config)
        self._inspector = Inspector(config, group=group.group)
        self._producer = Producer(config, background=True, linger_ms=_LINGER_MS)
        wait = _FETCH_WAIT_MS if log is None else _EMBEDDED_FETCH_WAIT_MS
        self._consumer = Consumer(config, group=group, fetch_wait_ms=wait)

    def begin(
        self, assigned: Callable[[Sequence[int]], None], revoked: Callable[[Sequence[int], bool], None]
    ) -> None:
        """Ask for partitions, or take all of them; as ``LogPort.begin``."""
        if self._log is None:
            self._consumer.subscribe(
                [self._commands],
                on_assign=lambda places: assigned(_numbers(places)),
                on_revoke=lambda places: revoked(_numbers(places), False),
                on_lost=lambda places: revoked(_numbers(places), True),
            )
            return
        numbers = range(self._count(self._commands))
        self._consumer.assign({self._place(number): 0 for number in numbers})
        self._consumer.pause([self._place(number) for number in numbers])
        assigned(numbers)

    def poll(self, max_messages: int, timeout: float) -> Polled:
        """As ``LogPort.poll``."""
        return self._consumer.poll(max_messages, timeout)

    def start(self, partition: int, offset: int) -> None:
        """As ``LogPort.start``."""
        self._consumer.start(self._place(partition), offset)

    def pause(self, partition: int) -> None:
        """As ``LogPort.pause``."""
        self._consumer.pause([self._place(partition)])

    def resume(self, partition: int) -> None:
        """As ``LogPort.resume``."""
        self._consumer.resume([self._place(partition)])

    def commit(self, partition: int, offset: int) -> None:
        """As ``LogPort.commit``.

        An offset that is not committed is committed with the next one, or sent again.
        """
        with suppress(Unavailable):
            self._consumer.commit({self._place(partition): offset})

    def send(self, message: Outgoing, delivered: Callable[[bool], None]) -> bool:
        """As ``LogPort.send``; raises ``FatalKafkaError``."""
        try:
            self._producer.produce(
                self._names[message.topic],
                message.value,
                key=message.key,
                headers=message.headers,
                partition=message.partition,
                on_delivery=partial(_report, delivered),
            )
        except Overloaded:
            return False
        except (TopicMismatch, Unavailable):
            delivered(False)
        return True

    def shape(self) -> LogShape:
        """As ``LogPort.shape``."""
        log = self._log
        if log is None:
            with _waiting_for_the_topic():
                identity = self._admin.identity(self._commands)
            log = LogId(identity.cluster_id, identity.topic_id)
        return LogShape(log, self._count(self._commands), self._count(self._outcomes))

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        """As ``LogPort.facts``."""
        place = self._place(partition)
        with _waiting_for_the_topic():
            low, high = self._inspector.watermarks(place)
            tip = self._inspector.message_at(place, tip_offset) if low <= tip_offset < high else None
            committed = self._inspector.committed(place)
        return LogFacts(
            log=self.shape().log,
            low=low,
            high=high,
            committed=committed,
            tip_digest=None if tip is None else message_digest(tip.key, tip.value),
        )

    def force_offset(self, partition: int, offset: int) -> None:
        """As ``LogPort.force_offset``."""
        with _waiting_for_the_topic():
            self._inspector.force_offset(self._place(partition), offset)

    def close(self) -> None:
        """Leave the group and let everything go; what was queued is sent first."""
        self._consumer.close()
        self._producer.close()
        self._inspector.close()

    def _place(self, partition: int) -> Partition:
        return Partition(self._commands, partition)

    def _count(self, topic: str) -> int:
        count = self._admin.partition_counts().get(topic)
        if count is None:
            raise Unavailable(f"topic {topic} is not there")
        return count


@contextmanager
def _waiting_for_the_topic() -> Generator[None]:
    """A topic that is not there may be one that is being made anew."""
    try:
        yield
    except TopicMismatch as missing:
        raise Unavailable(missing.message) from missing


def _numbers(places: Sequence[Partition]) -> list[int]:
    return [place.number for place in places]


def _report(delivered: Callable[[bool], None], failure: RunlaneError | None) -> None:
    delivered(failure is None)
