"""How the tests write and read whole topics."""

import time
from collections.abc import Callable, Sequence

from runlane.contract.errors import RunlaneError
from runlane.kafka import Consumer, KafkaConfig, Message, Partition, Producer

PATIENCE_SECONDS = 120.0


def write(config: KafkaConfig, topic: str, values: Sequence[bytes], *, partition: int = 0) -> None:
    """Write values to one partition, and know that the broker has them."""
    failures: list[RunlaneError | None] = []
    with Producer(config) as producer:
        for value in values:
            producer.produce(topic, value, partition=partition, on_delivery=failures.append)
        assert producer.drain(PATIENCE_SECONDS)
    assert failures == [None] * len(values)


def write_at_once(config: KafkaConfig, topic: str, values: Sequence[bytes]) -> None:
    """Write values as one batch, which a reader has whole or not at all."""
    with Producer(config, linger_ms=20_000) as producer:
        for value in values:
            producer.produce(topic, value, partition=0)
        assert producer._producer.flush(PATIENCE_SECONDS) == 0


def read(consumer: Consumer, count: int) -> list[Message]:
    """Read until `count` messages are there."""
    found: list[Message] = []
    until(lambda: len(found) >= count, lambda: found.extend(consumer.poll(count - len(found), 0.1).messages))
    return found


def read_from(config: KafkaConfig, topic: str, offset: int, count: int) -> list[Message]:
    """Read `count` messages of partition 0 from an offset on."""
    with Consumer(config) as consumer:
        consumer.assign({Partition(topic, 0): offset})
        return read(consumer, count)


def until(done: Callable[[], bool], step: Callable[[], object]) -> None:
    """Repeat a step until something is true."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < deadline, "it never came true"
        step()
