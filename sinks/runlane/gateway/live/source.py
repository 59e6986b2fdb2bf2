"""One Kafka reader a process: records and deltas of all partitions, from the end on, in no group.

It is behind nobody: it hands on what a viewer wants and forgets the rest. Where the topic no longer has the
reader's place it goes on at the oldest message kept and says so, since history fills the hole.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Sequence
from typing import Final

from runlane.contract.codec import Codec
from runlane.contract.delta import decode_delta
from runlane.contract.errors import (
    InvalidCommand,
    TopicMismatch,
    Unavailable,
    UndecodableMessage,
)
from runlane.contract.topics import Topics
from runlane.gateway.live.kafka_reader import ANSWER_SECONDS, KafkaReader
from runlane.gateway.live.ports import Happened, LaneDelta, Sink
from runlane.kafka import Admin, Consumer, KafkaConfig, Message, Partition

_POLL_MESSAGES: Final = 500
_POLL_SECONDS: Final = 0.2
_GROWTH_SECONDS: Final = 10.0
_log = logging.getLogger(__name__)


class KafkaSource(KafkaReader[Sink]):
    """Implements ``Source``."""

    subject = "live"

    def __init__(self, config: KafkaConfig, topics: Topics, codec: Codec | None = None) -> None:
        super().__init__(config)
        self._records = topics.records.name
        self._deltas = topics.deltas.name
        self._codec = codec or Codec()

    def _follow(self, consumer: Consumer, sink: Sink) -> None:
        admin = Admin(self._config, timeout=ANSWER_SECONDS)
        known = self._partitions(admin)
        ends = {place: consumer.watermarks(place, ANSWER_SECONDS)[1] for place in known}
        consumer.assign(ends)
        # The first time nobody looks yet; later what lies between the two readers was missed.
        sink.lose()
        sink.ready()
        looked = time.monotonic()
        while not self._stop.is_set():
            polled = consumer.poll(_POLL_MESSAGES, _POLL_SECONDS)
            happened = list(self._read(polled.messages, sink))
            if happened:
                sink.take(happened)
            if polled.lost:
                self._go_to_start(consumer, polled.lost)
                sink.lose()
            if time.monotonic() - looked > _GROWTH_SECONDS:
                looked = time.monotonic()
                with contextlib.suppress(Unavailable):
                    fresh = [place for place in self._partitions(admin) if place not in known]
                    self._go_to_start(consumer, fresh)
                    known += fresh

    def _partitions(self, admin: Admin) -> list[Partition]:
        counts = admin.partition_counts()
        for topic in (self._records, self._deltas):
            if topic not in counts:
                raise TopicMismatch(f"topic {topic} is missing", topic=topic)
        return [Partition(topic, n) for topic in (self._records, self._deltas) for n in range(counts[topic])]

    def _go_to_start(self, consumer: Consumer, places: Iterable[Partition]) -> None:
        for place in places:
            consumer.start(place, consumer.watermarks(place, ANSWER_SECONDS)[0])

    def _read(self, messages: Sequence[Message], sink: Sink) -> Iterable[Happened]:
        for message in messages:
            lane = (message.key or b"").decode("utf-8", "replace")
            if not sink.wants(lane):
                continue
            try:
                if message.topic == self._records:
                    yield self._codec.decode_record(message.value)
                else:
                    yield LaneDelta(lane, decode_delta(message.value))
            except (UndecodableMessage, InvalidCommand) as error:
                # Anybody may write to a topic; a record that is missed so shows as a hole.
                _log.warning("a message of %s cannot be read: %s", message.topic, error.code)
