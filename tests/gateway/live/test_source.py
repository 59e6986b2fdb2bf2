"""The one Kafka reader of a gateway, on the embedded broker."""

import threading
from collections.abc import Iterator, Sequence

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from runlane.contract.codec import encode_record, record_headers
from runlane.contract.delta import Delta, encode_delta
from runlane.contract.topics import Topics
from runlane.contract.values import CommittedRecord
from runlane.gateway.live import Happened, KafkaSource, LaneDelta
from runlane.kafka import EmbeddedBroker, KafkaConfig, Producer
from tests.gateway.memory_reader import a_record
from tests.harness.kafka import Kafka, KafkaBroker, new_topic_prefix

pytestmark = pytest.mark.slow

TOPICS = Topics(partitions=2)
PATIENCE = 60.0


class Seen:
    """A sink that wants some lanes and remembers what it got."""

    def __init__(self, *lanes: str) -> None:
        self.lanes = set(lanes)
        self.happened: list[Happened] = []
        self.losses = 0
        self.is_ready = threading.Event()
        self.news = threading.Condition()

    def wants(self, lane: str) -> bool:
        return lane in self.lanes

    def take(self, happened: Sequence[Happened]) -> None:
        with self.news:
            self.happened += happened
            self.news.notify_all()

    def ready(self) -> None:
        self.is_ready.set()

    def lose(self) -> None:
        with self.news:
            self.losses += 1
            self.news.notify_all()

    def wait_for(self, count: int) -> list[Happened]:
        with self.news:
            assert self.news.wait_for(lambda: len(self.happened) >= count, PATIENCE)
            return list(self.happened)


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker({spec.name: spec.partitions for spec in TOPICS.all()}) as running:
        yield running


@pytest.fixture
def producer(broker: EmbeddedBroker) -> Iterator[Producer]:
    with Producer(KafkaConfig(broker.bootstrap)) as made:
        yield made


@pytest.fixture
def seen(broker: EmbeddedBroker) -> Iterator[Seen]:
    sink = Seen("s/a", "s/b")
    source = KafkaSource(KafkaConfig(broker.bootstrap), TOPICS)
    source.start(sink)
    assert sink.is_ready.wait(PATIENCE)
    yield sink
    source.close()


def send(producer: Producer, record: CommittedRecord) -> None:
    body, headers = encode_record(record), record_headers(record.lane_seq)
    producer.produce(TOPICS.records.name, body, key=record.lane.encode(), headers=headers)
    assert producer.drain(PATIENCE)


def test_records_and_deltas_of_wanted_lanes_come_in_the_order_of_their_lane(
    seen: Seen, producer: Producer
) -> None:
    records = [a_record("r", lane, seq) for seq in (1, 2, 3) for lane in ("a", "b", "unwanted")]
    for record in records:
        send(producer, record)
    delta = Delta("r", "", "assistant", "hm")
    producer.produce(TOPICS.deltas.name, encode_delta(delta), key=b"s/a")
    assert producer.drain(PATIENCE)

    happened = seen.wait_for(7)

    for lane in ("s/a", "s/b"):
        told = [one for one in happened if isinstance(one, CommittedRecord) and one.lane == lane]
        assert told == [record for record in records if record.lane == lane]
    assert LaneDelta("s/a", delta) in happened


def test_what_was_sent_before_is_history(broker: EmbeddedBroker, producer: Producer) -> None:
    send(producer, a_record("r", "a", 1))
    sink = Seen("s/a")
    source = KafkaSource(KafkaConfig(broker.bootstrap), TOPICS)
    source.start(sink)
    assert sink.is_ready.wait(PATIENCE)
    send(producer, a_record("r", "a", 2))

    assert sink.wait_for(1) == [a_record("r", "a", 2)]
    source.close()


@pytest.mark.parametrize("body", [None, b"", b"garbage", b"\xc3\x01" + bytes(8)])
def test_a_message_that_is_none_of_ours_is_passed_over(
    seen: Seen, producer: Producer, body: bytes | None
) -> None:
    for topic in (TOPICS.records.name, TOPICS.deltas.name):
        producer.produce(topic, body, key=b"s/a")
    producer.produce(TOPICS.records.name, body, key=b"\xff")
    send(producer, a_record("r", "a", 1))

    assert seen.wait_for(1) == [a_record("r", "a", 1)]


def test_a_broker_that_comes_back_is_followed_on(
    broker: EmbeddedBroker, seen: Seen, producer: Producer
) -> None:
    send(producer, a_record("r", "a", 1))
    seen.wait_for(1)
    broker.disconnect()
    broker.reconnect()
    send(producer, a_record("r", "a", 2))

    assert [one.seq for one in seen.wait_for(2) if isinstance(one, CommittedRecord)] == [1, 2]


def test_a_source_without_its_topics_tries_again_until_they_are_there() -> None:
    with EmbeddedBroker({TOPICS.records.name: 1}) as bare:
        sink = Seen("s/a")
        source = KafkaSource(KafkaConfig(bare.bootstrap), TOPICS)
        source.start(sink)
        assert not sink.is_ready.is_set()
        bare.create_topic(TOPICS.deltas.name, 1)
        assert sink.is_ready.wait(PATIENCE)
        source.close()


@pytest.mark.slow
def test_on_a_real_broker_nothing_in_a_new_partition_is_missed_unsaid(
    kafka_broker: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runlane.gateway.live.source._GROWTH_SECONDS", 0.2)
    topics = Topics(new_topic_prefix(), partitions=1)
    for name in (topics.records.name, topics.deltas.name):
        kafka_broker.create_topic(name, partitions=1)
    config, seen = KafkaConfig(kafka_broker.bootstrap), Seen("s/a")
    source = KafkaSource(config, topics)
    source.start(seen)
    assert seen.is_ready.wait(PATIENCE)
    admin = AdminClient(config.options())
    for partition in (0, 1):
        if partition:
            more = NewPartitions(topics.records.name, 2)
            admin.create_partitions([more])[topics.records.name].result(PATIENCE)
        with Producer(config) as producer:
            body = encode_record(a_record("r", "a", partition + 1))
            producer.produce(topics.records.name, body, key=b"s/a", partition=partition)
            assert producer.drain(PATIENCE)

    # A reader that is refused the partition at first begins anew at the end and says so.
    with seen.news:
        assert seen.news.wait_for(lambda: len(seen.happened) == 2 or seen.losses > 1, PATIENCE)
    source.close()


@pytest.mark.slow
def test_on_a_real_broker_that_restarts_the_reader_goes_on(own_kafka_broker: KafkaBroker) -> None:
    topics = Topics(new_topic_prefix(), partitions=1)
    for name in (topics.records.name, topics.deltas.name):
        own_kafka_broker.create_topic(name, partitions=1)
    config, seen = KafkaConfig(own_kafka_broker.bootstrap), Seen("s/a")
    source = KafkaSource(config, topics)
    source.start(seen)
    assert seen.is_ready.wait(PATIENCE)
    with Producer(config) as producer:
        for seq in (1, 2):
            producer.produce(topics.records.name, encode_record(a_record("r", "a", seq)), key=b"s/a")
            assert producer.drain(60)
            if seq == 1:
                seen.wait_for(1)
                own_kafka_broker.kill()
                own_kafka_broker.start()

    assert [one.seq for one in seen.wait_for(2) if isinstance(one, CommittedRecord)] == [1, 2]
    source.close()
