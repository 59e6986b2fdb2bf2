"""One connection to one broker: commands out, and the outcomes of one partition back, read by a thread."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from runlane.client.endpoints import KafkaTarget
from runlane.contract.codec import Codec, Headers, outcome_correlation
from runlane.contract.delta import DELTA_SCHEMA
from runlane.contract.errors import RunlaneError, TopicMismatch, Unavailable, UndecodableMessage
from runlane.contract.outcomes import Outcome
from runlane.contract.topics import Topics
from runlane.kafka import Admin, Consumer, Delivery, Message, Partition, Producer

LOG: Final = logging.getLogger("runlane.client")
_CONNECT_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.2
_POLL_MESSAGES: Final = 500
_RETRY_SECONDS: Final = 0.5
_MOST_OUTSTANDING: Final = 1_000
_DELTA_HEADERS: Final = [("schema", DELTA_SCHEMA.encode())]


class Road(Enum):
    """The topics that commands go to."""

    COMMANDS = auto()
    MEMORY = auto()


class KafkaLink:
    """A producer and a reading thread. Blocks while it is made and closed, so both belong into a thread.

    Raises ``Unavailable`` when the broker does not answer, ``KafkaNotPermitted`` when it refuses our user,
    and ``TopicMismatch`` when it lacks our topics or does not show them to our user.
    Outcomes sent from then on reach ``on_outcomes`` in the reading thread, but only those whose correlation
    id ``wanted`` knows.
    """

    def __init__(
        self,
        target: KafkaTarget,
        codec: Codec,
        *,
        wanted: Callable[[str], bool],
        on_outcomes: Callable[[list[Outcome]], None],
    ) -> None:
        self.target = target
        self._codec = codec
        self._wanted = wanted
        self._on_outcomes = on_outcomes
        topics = Topics(target.topic_prefix)
        self._deltas = topics.deltas.name
        self._topics = {Road.COMMANDS: topics.commands.name, Road.MEMORY: topics.memory.name}
        counts = Admin(target.config, timeout=_CONNECT_SECONDS).partition_counts()
        self._partitions = {Road.COMMANDS: _count(counts, topics.commands.name)}
        # An installation may do without a memory sink.
        self._partitions[Road.MEMORY] = counts.get(topics.memory.name, 0)
        replies = _count(counts, topics.outcomes.name)
        self._reply = Partition(topics.outcomes.name, secrets.randbelow(replies))
        self._failed: RunlaneError | None = None
        self._stop = threading.Event()
        self._consumer = self._reader()
        self._producer = Producer(target.config, background=True)
        self._thread = threading.Thread(target=self._read, name="runlane-outcomes", daemon=True)
        self._thread.start()

    @property
    def reply_partition(self) -> int:
        """The partition of the outcomes topic that this link reads."""
        return self._reply.number

    @property
    def failed(self) -> RunlaneError | None:
        """Why this link can never be used again, or None."""
        return self._failed or self._producer.fatal

    def partitions(self, road: Road) -> int:
        """Return the partition count of a topic; ``TopicMismatch`` when there is no such topic."""
        return self._partitions[road] or _count({}, self._topics[road])

    def produce(self, road: Road, key: bytes, body: bytes, headers: Headers, on_delivery: Delivery) -> None:
        """Queue a command; ``on_delivery`` runs in a thread. Raises what ``Producer.produce`` raises."""
        self._producer.produce(self._topics[road], body, key=key, headers=headers, on_delivery=on_delivery)

    def produce_delta(self, key: bytes, body: bytes) -> None:
        """Queue a delta; it is dropped when the broker is behind, since a command must never wait for it."""
        if self._producer.outstanding < _MOST_OUTSTANDING:
            with contextlib.suppress(RunlaneError):
                self._producer.produce(self._deltas, body, key=key, headers=_DELTA_HEADERS)

    def close(self, timeout: float) -> None:
        """Wait up to ``timeout`` seconds for what is queued, then let go."""
        self._producer.close(timeout)
        self._stop.set()
        self._thread.join()

    def _reader(self) -> Consumer:
        consumer = Consumer(self.target.config)
        try:
            # From the end, fixed before the first command leaves: no outcome of ours can come earlier.
            _, end = consumer.watermarks(self._reply, _CONNECT_SECONDS)
            consumer.assign({self._reply: end})
        except BaseException:
            consumer.close()
            raise
        return consumer

    def _read(self) -> None:
        try:
            while not self._stop.is_set():
                polled = self._consumer.poll(_POLL_MESSAGES, _POLL_SECONDS)
                outcomes = [o for message in polled.messages if (o := self._outcome(message)) is not None]
                if outcomes:
                    self._on_outcomes(outcomes)
                if polled.lost:
                    self._find_position()
        except RunlaneError as error:
            LOG.warning("reading outcomes ended: %s: %s", error.code, error.message)
            self._failed = error
        finally:
            if not self._stop.is_set() and self._failed is None:
                # Only a fault of our own ends the thread so; without it nobody would hear an outcome again.
                self._failed = Unavailable("the thread that reads outcomes ended")
            self._consumer.close()

    def _outcome(self, message: Message) -> Outcome | None:
        if not self._wanted(outcome_correlation(message.headers)):
            return None
        try:
            return self._codec.decode_outcome(message.value)
        except UndecodableMessage as error:
            LOG.warning("an outcome cannot be read: %s", error.code)
            return None

    def _find_position(self) -> None:
        """Go on with the oldest outcome still kept; what is gone comes again when its command is repeated."""
        try:
            start, _ = self._consumer.watermarks(self._reply, _CONNECT_SECONDS)
            self._consumer.assign({self._reply: start})
        except Unavailable:
            time.sleep(_RETRY_SECONDS)
            self._consumer.assign({self._reply: 0})


def _count(counts: dict[str, int], topic: str) -> int:
    if not counts.get(topic):
        raise TopicMismatch(f"topic {topic} is missing, or not shown to this user", topic=topic)
    return counts[topic]
