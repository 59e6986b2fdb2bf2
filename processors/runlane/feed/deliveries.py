"""The feed's own hands on Kafka, beside Faust's: it delivers and counts reports, and looks at places."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from runlane.contract.activity import ActivityShare, share_message
from runlane.contract.codec import Codec
from runlane.contract.errors import Overloaded, RunlaneError, Unavailable, UndecodableMessage
from runlane.contract.stream import StreamEvent, stream_message
from runlane.contract.topics import TopicMessage, Topics
from runlane.feed.order import NOTHING
from runlane.kafka import Consumer, GroupSettings, KafkaConfig, Partition, Producer

_SETTLE_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.05
_LINGER_MS: Final = 2.0


class Deliveries:
    """Implements ``Outlet`` over an idempotent producer: the same bytes, key and partition as everyone's.

    One thread uses it: ``with Deliveries(config, topics) as out: out.event(event); out.settle()``.
    """

    def __init__(self, config: KafkaConfig, topics: Topics) -> None:
        self._stream = topics.stream.name
        self._activity = topics.activity.name
        self._producer = Producer(config, linger_ms=_LINGER_MS)
        self._failure: RunlaneError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._producer.close()

    def event(self, event: StreamEvent) -> None:
        """Send an event."""
        self._send(self._stream, stream_message(event))

    def share(self, share: ActivityShare) -> None:
        """Send a share."""
        self._send(self._activity, share_message(share))

    def settle(self) -> None:
        """Return once everything sent has arrived; else ``Unavailable``, or what the broker refused with."""
        arrived = self._producer.drain(_SETTLE_SECONDS)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if not arrived:
            raise Unavailable("the broker confirms nothing", code="broker_unavailable")

    def _send(self, topic: str, message: TopicMessage) -> None:
        headers = list(message.headers)
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            try:
                self._producer.produce(
                    topic, message.body, key=message.key, headers=headers, on_delivery=self._report
                )
            except Overloaded:
                if time.monotonic() > deadline:
                    raise
                self._producer.poll(_POLL_SECONDS)
            else:
                self._producer.poll()
                return

    def _report(self, failure: RunlaneError | None) -> None:
        self._failure = self._failure or failure


class Places:
    """Looks at the records topic without reading it: offsets of the group, ends, the block of one message.

    One thread uses it. Every method may raise ``Unavailable``.
    """

    def __init__(self, config: KafkaConfig, topics: Topics, group: str, codec: Codec) -> None:
        self._topic = topics.records.name
        self._codec = codec
        self._consumer = Consumer(config, group=GroupSettings(group))

    def close(self) -> None:
        """Let go of the broker."""
        self._consumer.close()

    def committed(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """Return the group's next offset of each partition, 0 where it has none."""
        places = [Partition(self._topic, number) for number in partitions]
        found = self._consumer.committed(places, _ANSWER_SECONDS)
        return {place.number: offset or 0 for place, offset in found.items()}

    def ends(self, partitions: Sequence[int]) -> Mapping[int, int]:
        """Return the offset behind the last message of each partition."""
        return {
            number: self._consumer.watermarks(Partition(self._topic, number), _ANSWER_SECONDS)[1]
            for number in partitions
        }

    def block_at(self, partition: int, offset: int) -> int:
        """Return the block of the record at ``offset``, -1 when the topic has it no more or cannot tell."""
        place = Partition(self._topic, partition)
        low, end = self._consumer.watermarks(place, _ANSWER_SECONDS)
        if not low <= offset < end:
            return NOTHING
        self._consumer.assign({place: offset})
        try:
            polled = self._consumer.poll(1, _ANSWER_SECONDS)
        finally:
            self._consumer.assign({})
        for message in polled.messages:
            try:
                return self._codec.decode_record(message.value).block
            except UndecodableMessage:
                return NOTHING
        return NOTHING
