"""A client that the library left without any broker ends, so that it is made anew (librdkafka issue 5301)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException

from runlane.contract.errors import FatalKafkaError, RunlaneError, TopicMismatch, Unavailable
from runlane.kafka import Admin, Consumer, EmbeddedBroker, KafkaConfig, Partition, Producer, stranding
from runlane.kafka.stranding import Stranding

NOWHERE = KafkaConfig("127.0.0.1:9")
SILENT = Unavailable("too long")
DISTURBED = TopicMismatch("missing")


class Brokers:
    """What a client hears when it asks, look by look: how many brokers, None for no answer."""

    def __init__(self, *answers: int | None) -> None:
        self._answers = list(answers)

    @property
    def left(self) -> Sequence[int | None]:
        """The answers that nobody asked for yet."""
        return self._answers

    def list_topics(self, *, timeout: float) -> SimpleNamespace:
        """As the library's."""
        assert timeout > 0
        answer = self._answers.pop(0)
        if answer is None:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(brokers=dict.fromkeys(range(answer)))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quiet client is asked at once, and soon believed to be lost; a new one has time to find a broker."""
    monkeypatch.setattr(stranding, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(stranding, "_NEW_SECONDS", 60.0)
    monkeypatch.setattr(stranding, "_LAST_SECONDS", 0.3)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker({"t": 1}) as broker:
        yield broker


def test_a_client_whose_brokers_answer_goes_on() -> None:
    brokers = Brokers(1)
    assert Stranding(NOWHERE, brokers.list_topics).found() is None
    assert brokers.left == []


def test_a_client_that_hears_something_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stranding, "_QUIET_SECONDS", 60.0)
    brokers = Brokers(None)
    lifeline = Stranding(NOWHERE, brokers.list_topics)
    assert lifeline.found() is None
    assert lifeline.judge(SILENT) is SILENT
    assert brokers.left == [None]


def test_in_an_outage_a_client_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stranding, "_NEW_SECONDS", 0.1)
    brokers = Brokers(None, None, 1)
    lifeline = Stranding(NOWHERE, brokers.list_topics)
    assert [lifeline.found() for _ in range(3)] == [None, None, None]
    assert brokers.left == []


def test_a_client_whose_brokers_are_just_back_goes_on(broker: EmbeddedBroker) -> None:
    lifeline = Stranding(KafkaConfig(broker.bootstrap), Brokers(None, 1).list_topics)
    assert lifeline.found() is None


@pytest.mark.parametrize("answer", [None, 0])
def test_a_client_that_finds_no_broker_where_a_new_one_does_is_lost(
    broker: EmbeddedBroker, answer: int | None
) -> None:
    lifeline = Stranding(KafkaConfig(broker.bootstrap), Brokers(answer, answer).list_topics)
    assert isinstance(lifeline.found(), FatalKafkaError)
    assert lifeline.lost


def test_a_call_of_a_lost_client_says_so(broker: EmbeddedBroker) -> None:
    lifeline = Stranding(KafkaConfig(broker.bootstrap), Brokers(None, None).list_topics)
    assert lifeline.judge(DISTURBED) is DISTURBED
    assert isinstance(lifeline.judge(SILENT), FatalKafkaError)


def test_a_lost_reader_ends_in_its_poll_and_in_its_calls(broker: EmbeddedBroker) -> None:
    with Consumer(KafkaConfig(broker.bootstrap)) as consumer:
        inner, consumer._consumer = consumer._consumer, _elsewhere()
        consumer._stranding = Stranding(KafkaConfig(broker.bootstrap), consumer._consumer.list_topics)
        with pytest.raises(FatalKafkaError):
            consumer.poll(1, 0)
        with pytest.raises(FatalKafkaError):
            consumer.watermarks(Partition("t", 0), 0.2)
        consumer._consumer.close()
        consumer._consumer = inner


def test_a_lost_producer_gives_up_what_it_holds(broker: EmbeddedBroker) -> None:
    config = KafkaConfig(broker.bootstrap)
    producer = Producer(NOWHERE)
    producer._stranding = Stranding(config, producer._producer.list_topics)
    reports: list[RunlaneError | None] = []
    producer.produce("t", b"x", on_delivery=reports.append)
    producer.poll()
    assert isinstance(producer.fatal, FatalKafkaError)
    producer.close()
    assert reports == [producer.fatal]
    with pytest.raises(FatalKafkaError):
        producer.produce("t", b"y")


def test_a_cluster_that_names_no_broker_is_not_there() -> None:
    admin = Admin(NOWHERE)
    admin._client = Brokers(0)
    with pytest.raises(Unavailable):
        admin.partition_counts()


def test_a_quiet_reader_and_a_quiet_producer_of_a_broker_that_is_there_go_on(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stranding, "_ASK_SECONDS", 60.0)
    config = KafkaConfig(broker.bootstrap)
    with Consumer(config) as consumer, Producer(config) as producer:
        for _ in range(3):
            assert consumer.poll(1, 0).messages == ()
            producer.poll()
        assert producer.fatal is None


def _elsewhere() -> confluent_kafka.Consumer:
    """A reader of the library that finds no broker."""
    return confluent_kafka.Consumer({"bootstrap.servers": NOWHERE.bootstrap, "group.id": "g", "log_level": 0})
