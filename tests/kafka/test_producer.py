"""The producer writes in order, once, where the key belongs, and reports each message once."""

import pytest
from confluent_kafka import KafkaError

from runlane.contract.errors import (
    ContractError,
    FatalKafkaError,
    Overloaded,
    RunlaneError,
    TopicMismatch,
    Unavailable,
)
from runlane.contract.limits import MAX_MESSAGE_BYTES
from runlane.contract.partitioner import partition_for
from runlane.kafka import Consumer, EmbeddedBroker, KafkaConfig, Partition, Producer
from tests.harness import new_topic_prefix
from tests.kafka.conftest import MakeTopic
from tests.kafka.reading import PATIENCE_SECONDS, read, read_from, until, write

pytestmark = pytest.mark.slow

Reports = list[RunlaneError | None]


def test_messages_arrive_in_order_with_key_and_headers(config: KafkaConfig, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with Producer(config) as producer:
        for number in range(100):
            producer.produce(topic, b"%d" % number, key=b"k", headers=[("a", b"1"), ("a", b"2")])
        assert producer.drain(PATIENCE_SECONDS)
    messages = read_from(config, topic, 0, 100)
    assert [message.value for message in messages] == [b"%d" % number for number in range(100)]
    assert [message.offset for message in messages] == list(range(100))
    assert {message.key for message in messages} == {b"k"}
    assert messages[0].headers == [("a", b"1"), ("a", b"2")]


def test_a_key_goes_to_the_partition_that_the_contract_computes(
    config: KafkaConfig, make_topic: MakeTopic
) -> None:
    topic = make_topic(7)
    keys = [f"s/größe-{number}".encode() for number in range(40)]
    with Producer(config) as producer:
        for key in keys:
            producer.produce(topic, b"", key=key)
        assert producer.drain(PATIENCE_SECONDS)
    with Consumer(config) as consumer:
        consumer.assign({Partition(topic, number): 0 for number in range(7)})
        found = {message.key: message.partition for message in read(consumer, len(keys))}
    assert found == {key: partition_for(key, 7) for key in keys}


def test_a_value_may_be_absent(config: KafkaConfig, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with Producer(config) as producer:
        producer.produce(topic, None, key=b"k")
        assert producer.drain(PATIENCE_SECONDS)
    (message,) = read_from(config, topic, 0, 1)
    assert message.value is None
    assert list(message.headers) == []


def test_every_message_is_reported_once(config: KafkaConfig, make_topic: MakeTopic) -> None:
    topic, reports = make_topic(), Reports()
    with Producer(config, background=True) as producer:
        for _ in range(500):
            producer.produce(topic, b"x", on_delivery=reports.append)
        until(lambda: producer.outstanding == 0, lambda: producer.poll(0.01))
    assert reports == [None] * 500


def test_a_message_of_nearly_two_mebibytes_passes(config: KafkaConfig, make_topic: MakeTopic) -> None:
    topic, value = make_topic(), bytes(MAX_MESSAGE_BYTES - 8 * 1024)
    headers = [("schema", b"x" * 64), ("correlation", b"x" * 64), ("reply", b"0"), ("signature", b"x" * 160)]
    reports = Reports()
    with Producer(config) as producer:
        producer.produce(topic, value, key=b"s/" + b"k" * 256, headers=headers, on_delivery=reports.append)
        assert producer.drain(PATIENCE_SECONDS)
    assert reports == [None]
    assert read_from(config, topic, 0, 1)[0].value == value


def test_a_message_above_the_limit_is_refused_for_good(config: KafkaConfig, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with Producer(config) as producer, pytest.raises(ContractError) as caught:
        producer.produce(topic, bytes(MAX_MESSAGE_BYTES + 1))
    assert (caught.value.code, caught.value.retryable) == ("message_too_large", False)
    assert producer.outstanding == 0


def test_a_partition_that_does_not_exist_is_a_mismatch(config: KafkaConfig, make_topic: MakeTopic) -> None:
    topic, reports = make_topic(), Reports()
    write(config, topic, [b"x"])
    with Producer(config) as producer:
        # Before the producer has heard of the topic's size the report says it, after that the call.
        producer.produce(topic, b"x", partition=9, on_delivery=reports.append)
        assert producer.drain(PATIENCE_SECONDS)
        with pytest.raises(TopicMismatch):
            producer.produce(topic, b"x", partition=9)
    assert [type(report) for report in reports] == [TopicMismatch]


@pytest.mark.kafka
@pytest.mark.slow
def test_a_topic_that_does_not_exist_is_a_mismatch(real_config: KafkaConfig) -> None:
    reports = Reports()
    with Producer(real_config) as producer:
        producer.produce(new_topic_prefix() + "absent", b"x", on_delivery=reports.append)
        assert producer.drain(PATIENCE_SECONDS)
    assert [type(report) for report in reports] == [TopicMismatch]


def _fill(producer: Producer, reports: Reports) -> None:
    for _ in range(100):
        producer.produce("t", bytes(4096), on_delivery=reports.append)


def test_a_full_queue_is_overload_and_keeps_what_it_has() -> None:
    reports = Reports()
    with EmbeddedBroker({"t": 1}) as broker:
        broker.disconnect()
        with Producer(KafkaConfig(broker.bootstrap), max_queued_bytes=64 * 1024) as producer:
            with pytest.raises(Overloaded):
                _fill(producer, reports)
            waiting = producer.outstanding
            assert 0 < waiting < 100
            broker.reconnect()
            assert producer.drain(PATIENCE_SECONDS)
    assert reports == [None] * waiting


def test_a_broker_that_is_away_fails_the_delivery_and_not_the_producer() -> None:
    reports = Reports()
    with (
        EmbeddedBroker({"t": 1}) as broker,
        Producer(KafkaConfig(broker.bootstrap), delivery_timeout_ms=300) as producer,
    ):
        broker.disconnect()
        producer.produce("t", b"lost", on_delivery=reports.append)
        assert producer.drain(PATIENCE_SECONDS)
        broker.reconnect()
        until(lambda: None in reports, lambda: _try_again(producer, reports))
    assert isinstance(reports[0], Unavailable)
    assert reports[0].retryable


def _try_again(producer: Producer, reports: Reports) -> None:
    producer.produce("t", b"kept", on_delivery=reports.append)
    assert producer.drain(PATIENCE_SECONDS)


def test_closing_gives_up_what_the_broker_never_took_and_reports_it() -> None:
    reports = Reports()
    with EmbeddedBroker({"t": 1}) as broker:
        broker.disconnect()
        producer = Producer(KafkaConfig(broker.bootstrap), background=True)
        producer.produce("t", b"x", on_delivery=reports.append)
        producer.close(timeout=0.1)
        producer.close()
    assert [type(report) for report in reports] == [Unavailable]
    assert producer.outstanding == 0


def test_after_a_fatal_error_nothing_is_written(config: KafkaConfig, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with Producer(config) as producer:
        assert producer.fatal is None
        producer._on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "a passing trouble"))
        producer.produce(topic, b"before")
        producer._on_error(KafkaError(KafkaError._FATAL, "the sequence is lost", fatal=True))
        with pytest.raises(FatalKafkaError):
            producer.produce(topic, b"after")
        assert isinstance(producer.fatal, FatalKafkaError)
