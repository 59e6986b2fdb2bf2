"""One Kafka reader a process: the activity topic of all partitions, from an hour ago on, in no group."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from runlane.contract.activity import ActivityShare, decode_share
from runlane.contract.errors import InvalidCommand, TopicMismatch
from runlane.contract.topics import Topics
from runlane.gateway.live.activity import ActivitySink
from runlane.gateway.live.kafka_reader import ANSWER_SECONDS, KafkaReader
from runlane.gateway.live.windows import KEPT
from runlane.kafka import Admin, Consumer, KafkaConfig, Message, Partition

_POLL_MESSAGES: Final = 1_000
_POLL_SECONDS: Final = 0.2
_log = logging.getLogger(__name__)


class KafkaActivitySource(KafkaReader[ActivitySink]):
    """Implements ``ActivitySource``."""

    subject = "activity"

    def __init__(self, config: KafkaConfig, topics: Topics) -> None:
        super().__init__(config)
        self._topic = topics.activity.name

    def _follow(self, consumer: Consumer, sink: ActivitySink) -> None:
        count = Admin(self._config, timeout=ANSWER_SECONDS).partition_counts().get(self._topic)
        if count is None:
            raise TopicMismatch(f"topic {self._topic} is missing", topic=self._topic)
        places = [Partition(self._topic, number) for number in range(count)]
        starts = consumer.offsets_since(places, datetime.now(UTC) - KEPT, ANSWER_SECONDS)
        ends = {place: consumer.watermarks(place, ANSWER_SECONDS)[1] for place in places}
        consumer.assign(starts)
        behind = {place for place in places if starts[place] < ends[place]}
        told = False
        while not self._stop.is_set():
            if not behind and not told:
                told = True
                sink.ready()
            polled = consumer.poll(_POLL_MESSAGES, _POLL_SECONDS)
            shares = list(_shares(polled.messages))
            if shares:
                sink.take(shares)
            for message in polled.messages:
                place = Partition(message.topic, message.partition)
                if message.offset + 1 >= ends[place]:
                    behind.discard(place)
            for place in polled.lost:
                # What is gone from the topic is older than what is asked for.
                low = consumer.watermarks(place, ANSWER_SECONDS)[0]
                consumer.start(place, low)
                if low >= ends[place]:
                    behind.discard(place)


def _shares(messages: Sequence[Message]) -> Iterable[ActivityShare]:
    for message in messages:
        try:
            yield decode_share(message.value)
        except InvalidCommand as error:
            _log.warning("a message of %s cannot be read: %s", message.topic, error.code)
