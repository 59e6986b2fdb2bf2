"""The consumer reads from where it is told, reports a position that is gone, commits what it is told."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import KafkaError

from runlane.contract.errors import FatalKafkaError, RunlaneError
from runlane.kafka import Consumer, EmbeddedBroker, GroupSettings, KafkaConfig, Partition
from tests.harness import Kafka, new_topic_prefix
from tests.kafka.conftest import MakeTopic
from tests.kafka.reading import PATIENCE_SECONDS, read, read_from, until, write, write_at_once

VALUES = [b"%d" % number for number in range(10)]


def group() -> GroupSettings:
    return GroupSettings(new_topic_prefix() + "group", session_timeout_ms=2000, heartbeat_interval_ms=200)


@pytest.fixture
def topic(config: KafkaConfig, make_topic: MakeTopic) -> str:
    name = make_topic()
    write(config, name, VALUES)
    return name


def test_reading_starts_at_the_assigned_offset(config: KafkaConfig, topic: str) -> None:
    assert [message.value for message in read_from(config, topic, 6, 4)] == VALUES[6:]


def test_a_poll_returns_what_is_there_up_to_the_asked_number(
    config: KafkaConfig, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    write_at_once(config, topic, VALUES)
    with Consumer(config) as consumer:
        consumer.assign({Partition(topic, 0): 0})
        first = read(consumer, 1)
        sizes = [len(consumer.poll(3, PATIENCE_SECONDS).messages) for _ in range(3)]
    assert first[0].value == b"0"
    assert sizes == [3, 3, 3]


def test_an_empty_poll_returns_nothing(config: KafkaConfig, topic: str) -> None:
    with Consumer(config) as consumer:
        consumer.assign({Partition(topic, 0): 10})
        polled = consumer.poll(10, 0.2)
    assert (polled.messages, polled.lost) == ((), ())


@pytest.mark.parametrize("offset", [50, 1000])
def test_a_position_above_the_log_is_reported_and_not_reset(
    config: KafkaConfig, topic: str, offset: int
) -> None:
    with Consumer(config) as consumer:
        consumer.assign({Partition(topic, 0): offset})
        lost: list[Partition] = []
        until(lambda: bool(lost), lambda: lost.extend(consumer.poll(10, 0.1).lost))
        assert lost == [Partition(topic, 0)]
        consumer.start(Partition(topic, 0), 9)
        assert [message.value for message in read(consumer, 1)] == [b"9"]


def test_a_position_below_the_log_is_reported_and_not_reset(
    cluster: Kafka | EmbeddedBroker, config: KafkaConfig, topic: str
) -> None:
    trim(cluster, topic, before=7)
    with Consumer(config) as consumer:
        consumer.assign({Partition(topic, 0): 3})
        lost: list[Partition] = []
        until(lambda: bool(lost), lambda: lost.extend(consumer.poll(10, 0.1).lost))
        assert lost == [Partition(topic, 0)]
        assert consumer.watermarks(Partition(topic, 0), PATIENCE_SECONDS) == (7, 10)


def trim(cluster: Kafka | EmbeddedBroker, topic: str, *, before: int) -> None:
    if isinstance(cluster, EmbeddedBroker):
        cluster.trim(topic, 0, before)
        return
    from confluent_kafka import TopicPartition

    # Held by a name: a client that nothing holds ends its own requests.
    admin = cluster.admin()
    for future in admin.delete_records([TopicPartition(topic, 0, before)]).values():
        assert future.result(timeout=PATIENCE_SECONDS).low_watermark == before


def test_a_seek_drops_what_was_fetched_before(config: KafkaConfig, topic: str) -> None:
    partition = Partition(topic, 0)
    with Consumer(config) as consumer:
        consumer.assign({partition: 0})
        assert [message.offset for message in read(consumer, 2)] == [0, 1]
        consumer.seek(partition, 8)
        assert [message.offset for message in read(consumer, 2)] == [8, 9]
        consumer.seek(partition, 1)
        assert [message.offset for message in read(consumer, 3)] == [1, 2, 3]


def test_a_paused_partition_brings_nothing_until_it_is_resumed(config: KafkaConfig, topic: str) -> None:
    partition = Partition(topic, 0)
    with Consumer(config) as consumer:
        consumer.assign({partition: 0})
        assert read(consumer, 3)[-1].offset == 2
        consumer.pause([partition])
        assert consumer.poll(10, 0.3).messages == ()
        consumer.resume([partition])
        assert [message.offset for message in read(consumer, 7)] == list(range(3, 10))


def test_starting_a_paused_partition_moves_it(config: KafkaConfig, topic: str) -> None:
    partition = Partition(topic, 0)
    with Consumer(config) as consumer:
        consumer.assign({partition: 0})
        consumer.pause([partition])
        consumer.start(partition, 5)
        assert [message.offset for message in read(consumer, 5)] == [5, 6, 7, 8, 9]


def test_only_what_is_committed_is_committed(config: KafkaConfig, topic: str) -> None:
    partition, members = Partition(topic, 0), group()
    with Consumer(config, group=members) as consumer:
        consumer.assign({partition: 0})
        read(consumer, 10)
        assert consumer.committed([partition], PATIENCE_SECONDS) == {partition: None}
        consumer.commit_now({partition: 4})
        assert consumer.committed([partition], PATIENCE_SECONDS) == {partition: 4}
    with Consumer(config, group=members) as consumer:
        assert consumer.committed([partition], PATIENCE_SECONDS) == {partition: 4}


def test_a_commit_without_waiting_is_reported(config: KafkaConfig, topic: str) -> None:
    partition, reports = Partition(topic, 0), list[RunlaneError | None]()
    with Consumer(config, group=group(), on_commit=reports.append) as consumer:
        consumer.assign({partition: 0})
        consumer.commit({partition: 7})
        until(lambda: bool(reports), lambda: consumer.poll(1, 0.05))
        assert reports == [None]
        assert consumer.committed([partition], PATIENCE_SECONDS) == {partition: 7}


def test_the_watermarks_of_an_empty_partition(config: KafkaConfig, make_topic: MakeTopic) -> None:
    with Consumer(config) as consumer:
        assert consumer.watermarks(Partition(make_topic(), 0), PATIENCE_SECONDS) == (0, 0)


def test_two_threads_at_once_are_refused(config: KafkaConfig, topic: str) -> None:
    with Consumer(config) as consumer, ThreadPoolExecutor(1) as other:
        consumer.assign({Partition(topic, 0): 0})
        # The other thread is inside, for as long as the test wants.
        assert other.submit(consumer._inside.acquire).result()
        with pytest.raises(RuntimeError, match="two threads"):
            consumer.poll(1, 0)
        other.submit(consumer._inside.release).result()
        assert [message.offset for message in read(consumer, 1)] == [0]


def test_a_fatal_error_ends_the_polling(config: KafkaConfig, topic: str) -> None:
    with Consumer(config) as consumer:
        consumer.assign({Partition(topic, 0): 0})
        consumer._on_error(KafkaError(KafkaError._FATAL, "fenced", fatal=True))
        with pytest.raises(FatalKafkaError):
            consumer.poll(1, 0)
