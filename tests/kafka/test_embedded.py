"""The broker in this process: its topics, its bounds, and that others reach it."""

import subprocess
import sys

import pytest

from runlane.contract.errors import FatalKafkaError, TopicMismatch
from runlane.contract.topics import EMBEDDED_PARTITIONS, Topics
from runlane.kafka import Admin, Consumer, EmbeddedBroker, KafkaConfig, Partition
from tests.kafka.reading import PATIENCE_SECONDS, read_from, until, write


def test_it_has_the_declared_topics() -> None:
    specs = Topics(partitions=EMBEDDED_PARTITIONS).all()
    with EmbeddedBroker({spec.name: spec.partitions for spec in specs}) as broker:
        admin = Admin(KafkaConfig(broker.bootstrap))
        admin.check_topics(specs, settings=False)
        assert admin.partition_counts() == {spec.name: spec.partitions for spec in specs}
        with pytest.raises(TopicMismatch):
            admin.check_topics(Topics(partitions=EMBEDDED_PARTITIONS + 1).all(), settings=False)


def test_another_process_reaches_it(embedded: EmbeddedBroker) -> None:
    embedded.create_topic("reached", 1)
    program = (
        "import sys; from runlane.kafka import KafkaConfig, Producer\n"
        "with Producer(KafkaConfig(sys.argv[1])) as producer:\n"
        "    producer.produce('reached', b'hello')\n"
        "    assert producer.drain(60)"
    )
    subprocess.run([sys.executable, "-c", program, embedded.bootstrap], check=True, timeout=PATIENCE_SECONDS)
    assert read_from(KafkaConfig(embedded.bootstrap), "reached", 0, 1)[0].value == b"hello"


def test_it_listens_on_loopback_only(embedded: EmbeddedBroker) -> None:
    assert embedded.bootstrap.startswith("127.0.0.1:")


def test_beyond_five_megabytes_a_partition_drops_its_oldest_and_a_reader_is_told(
    embedded: EmbeddedBroker,
) -> None:
    embedded.create_topic("bounded", 1)
    config, partition = KafkaConfig(embedded.bootstrap), Partition("bounded", 0)
    write(config, "bounded", [bytes(500_000)] * 20)
    with Consumer(config) as consumer:
        low, high = consumer.watermarks(partition, PATIENCE_SECONDS)
        assert high == 20
        assert 20 - 12 < low < 20
        consumer.assign({partition: 0})
        lost: list[Partition] = []
        until(lambda: bool(lost), lambda: lost.extend(consumer.poll(10, 0.1).lost))
    assert lost == [partition]


def test_what_is_stored_outlives_lost_connections(embedded: EmbeddedBroker) -> None:
    embedded.create_topic("kept", 1)
    config = KafkaConfig(embedded.bootstrap)
    write(config, "kept", [b"a"])
    embedded.disconnect()
    embedded.reconnect()
    assert read_from(config, "kept", 0, 1)[0].value == b"a"


def test_a_second_broker_is_empty_and_apart(embedded: EmbeddedBroker) -> None:
    embedded.create_topic("apart", 1)
    with EmbeddedBroker({"own": 2}) as other:
        assert other.bootstrap != embedded.bootstrap
        assert Admin(KafkaConfig(other.bootstrap)).partition_counts() == {"own": 2}


def test_closed_it_answers_no_more_and_closing_again_is_fine() -> None:
    broker = EmbeddedBroker({})
    broker.close()
    broker.close()
    with pytest.raises(FatalKafkaError, match="closed"):
        broker.create_topic("late", 1)


def test_a_topic_that_cannot_be_made_is_an_error(embedded: EmbeddedBroker) -> None:
    embedded.create_topic("twice", 1)
    with pytest.raises(FatalKafkaError, match="making topic twice"):
        embedded.create_topic("twice", 1)
    with pytest.raises(ValueError, match="at least one partition"):
        embedded.create_topic("none", -1)
