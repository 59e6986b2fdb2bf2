"""The harness itself: what a test may rely on when it takes the broker."""

import os
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.harness import Kafka, KafkaBroker, new_topic_prefix
from tests.harness.kafka import ANSWER_SECONDS

pytestmark = pytest.mark.kafka


def send(broker: Kafka, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": "all", "message.max.bytes": 4194304})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(ANSWER_SECONDS) == 0


def read(broker: Kafka, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": f"{topic}-reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return [message.value() for message in consumer.consume(count, timeout=ANSWER_SECONDS)]
    finally:
        consumer.close()


@pytest.fixture
def topic(own_kafka_broker: KafkaBroker) -> str:
    name = f"{new_topic_prefix()}roundtrip"
    own_kafka_broker.create_topic(name)
    return name


def test_what_is_produced_is_consumed(own_kafka_broker: KafkaBroker, topic: str) -> None:
    send(own_kafka_broker, topic, [b"one", b"two"])
    assert read(own_kafka_broker, topic, 2) == [b"one", b"two"]


def test_a_message_of_two_mebibytes_fits(own_kafka_broker: KafkaBroker) -> None:
    name = f"{new_topic_prefix()}large"
    own_kafka_broker.create_topic(name, config={"max.message.bytes": str(3 * 2**20)})
    send(own_kafka_broker, name, [b"x" * 2 * 2**20])
    assert [len(value or b"") for value in read(own_kafka_broker, name, 1)] == [2 * 2**20]


def test_topics_are_not_created_by_use(own_kafka_broker: KafkaBroker) -> None:
    name = f"{new_topic_prefix()}absent"
    metadata = own_kafka_broker.admin().list_topics(name, timeout=ANSWER_SECONDS)
    assert metadata.topics[name].error is not None
    with pytest.raises(KafkaException):
        own_kafka_broker.delete_topic(name)


@pytest.mark.slow
def test_a_restart_keeps_data_and_address(own_kafka_broker: KafkaBroker, topic: str) -> None:
    before, address = own_kafka_broker.pid, own_kafka_broker.bootstrap
    send(own_kafka_broker, topic, [b"kept"])
    own_kafka_broker.restart()
    assert own_kafka_broker.pid != before
    assert own_kafka_broker.bootstrap == address
    assert read(own_kafka_broker, topic, 1) == [b"kept"]


@pytest.mark.slow
def test_a_kill_ends_the_process_and_keeps_data(own_kafka_broker: KafkaBroker, topic: str) -> None:
    send(own_kafka_broker, topic, [b"kept"])
    pid = own_kafka_broker.pid
    own_kafka_broker.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    own_kafka_broker.start()
    assert read(own_kafka_broker, topic, 1) == [b"kept"]


def test_a_frozen_broker_answers_again_when_thawed(own_kafka_broker: KafkaBroker) -> None:
    own_kafka_broker.freeze()
    try:
        with pytest.raises(KafkaException):
            own_kafka_broker.admin().list_topics(timeout=0.5)
    finally:
        own_kafka_broker.thaw()
    assert own_kafka_broker.admin().list_topics(timeout=ANSWER_SECONDS).brokers


def test_a_broker_that_cannot_start_says_why(own_kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    assert own_kafka_broker.bootstrap
    broken = KafkaBroker(tmp_path, properties={"num.io.threads": "none"})
    with pytest.raises(RuntimeError, match=r"num\.io\.threads"):
        broken.start()
    with pytest.raises(RuntimeError, match="not running"):
        broken.stop()
