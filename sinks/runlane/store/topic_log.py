"""The topic that a chain of blocks is written from, over Kafka: what owner and memory sink have in common.

A consumer that one thread polls, a producer, and an inspector for whoever checks the log meanwhile.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from runlane.contract.errors import FatalKafkaError, TopicMismatch, Unavailable
from runlane.kafka import Admin, Consumer, GroupSettings, Inspector, KafkaConfig, Partition, Polled, Producer
from runlane.store.block import LogId, message_digest
from runlane.store.stops import LogFacts, LogShape

_LINGER_MS: Final = 1.0
_SHORTEST_LIFE_SECONDS: Final = 10.0
"""Less than it takes to find out that a client lost its brokers: that alone never ends a role."""
_LOG: Final = logging.getLogger(__name__)


class TopicLog:
    """One topic, read, and the topic that its answers go to.

    With ``log`` (the embedded broker has no identity of its own) every partition is assigned to this process;
    without, the group shares them out and the cluster says which log it is.
    """

    def __init__(
        self,
        config: KafkaConfig,
        *,
        topic: str,
        outcomes: str,
        group: GroupSettings,
        log: LogId | None,
    ) -> None:
        self._topic = topic
        self._outcomes = outcomes
        self._log = log
        self._config = config
        self._group = group
        self._connect()

    def _connect(self) -> None:
        self._admin = Admin(self._config)
        self._inspector = Inspector(self._config, group=self._group.group)
        self._consumer = Consumer(self._config, group=self._group)
        self._producer = Producer(self._config, background=True, linger_ms=_LINGER_MS)
        self._connected_at = time.monotonic()

    def renew(self, failure: FatalKafkaError) -> None:
        """Make every client anew because one failed for good; nobody may poll or send meanwhile.

        Then everything starts with ``begin``. Raises ``failure`` where the clients lasted only for seconds:
        others would not last either.
        """
        if time.monotonic() - self._connected_at < _SHORTEST_LIFE_SECONDS:
            raise failure
        _LOG.warning("every Kafka client of this role is made anew: %s", failure.message)
        self.close()
        self._connect()

    @property
    def read_errors(self) -> Mapping[str, int]:
        """How often the reader went on after which of Kafka's errors; any thread."""
        return dict(self._consumer.errors)

    def begin(
        self, assigned: Callable[[Sequence[int]], None], revoked: Callable[[Sequence[int], bool], None]
    ) -> None:
        """Ask for partitions, or take all of them; ``revoked`` hears True where they long are another's.

        Nothing is fetched from a partition before ``start``; it is another's once ``revoked`` has returned.
        """
        if self._log is None:
            self._consumer.subscribe(
                [self._topic],
                on_assign=lambda places: assigned(_numbers(places)),
                on_revoke=lambda places: revoked(_numbers(places), False),
                on_lost=lambda places: revoked(_numbers(places), True),
            )
            return
        (count,) = self._counts(self._topic)
        numbers = range(count)
        self._consumer.assign({self._place(number): 0 for number in numbers})
        self._consumer.pause([self._place(number) for number in numbers])
        assigned(numbers)

    def poll(self, max_messages: int, timeout: float) -> Polled:
        """Return what has arrived, waiting at most ``timeout`` seconds for the first.

        Raises ``TopicMismatch``, ``FatalKafkaError``, and ``KafkaNotPermitted`` where our user may not read,
        or may not write what follows from it.
        """
        failure = self._producer.refused or self._producer.fatal
        if failure is not None:
            raise failure
        return self._consumer.poll(max_messages, timeout)

    def start(self, partition: int, offset: int) -> None:
        """Fetch an assigned partition from ``offset`` on; nothing fetched before is returned any more."""
        self._consumer.start(self._place(partition), offset)

    def pause(self, partition: int) -> None:
        """Stop fetching a partition."""
        self._consumer.pause([self._place(partition)])

    def resume(self, partition: int) -> None:
        """Go on fetching a partition where it was paused."""
        self._consumer.resume([self._place(partition)])

    def commit(self, partition: int, offset: int) -> None:
        """Commit the group's offset, without waiting; one that is not committed is with the next one."""
        with suppress(Unavailable):
            self._consumer.commit({self._place(partition): offset})

    def shape(self) -> LogShape:
        """Return what the log is; raises ``Unavailable``, also while a topic is not there. Any thread."""
        # Counted first: the library ends the process that asks a cluster without any broker who it is.
        partitions, replies = self._counts(self._topic, self._outcomes)
        log = self._log
        if log is None:
            with _waiting_for_the_topic():
                identity = self._admin.identity(self._topic)
            log = LogId(identity.cluster_id, identity.topic_id)
        return LogShape(log, partitions, replies)

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        """Return a partition's facts, with the digest of the message at ``tip_offset``; any thread.

        Raises ``Unavailable``, also while the topic is not there.
        """
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
        """Set the group's offset; raises ``Unavailable``, also while the group has members. Any thread."""
        with _waiting_for_the_topic():
            self._inspector.force_offset(self._place(partition), offset)

    def close(self) -> None:
        """Leave the group and let everything go; what was queued is sent first."""
        self._consumer.close()
        self._producer.close()
        self._inspector.close()

    def _place(self, partition: int) -> Partition:
        return Partition(self._topic, partition)

    def _counts(self, *topics: str) -> Sequence[int]:
        counts = self._admin.partition_counts()
        missing = [topic for topic in topics if topic not in counts]
        if missing:
            raise Unavailable(f"topic {missing[0]} is not there")
        return [counts[topic] for topic in topics]


@contextmanager
def _waiting_for_the_topic() -> Generator[None]:
    """A topic that is not there may be one that is being made anew."""
    try:
        yield
    except TopicMismatch as missing:
        raise Unavailable(missing.message) from missing


def _numbers(places: Sequence[Partition]) -> list[int]:
    return [place.number for place in places]
