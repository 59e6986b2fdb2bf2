"""What an owner's log and a memory sink's have in common, on the embedded broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from runlane.contract.errors import FatalKafkaError, Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import EmbeddedBroker, GroupSettings, KafkaConfig, Producer
from runlane.owner.kafka_log import KafkaLog
from runlane.store import topic_log
from runlane.store.block import LogId
from runlane.store.memory import KafkaMemoryLog
from runlane.store.topic_log import TopicLog

TOPICS = Topics(partitions=1)
LOG = LogId("cluster", "topic")
LOST = FatalKafkaError("every broker is lost")
PATIENCE = 60.0
KINDS = pytest.mark.parametrize("kind", [KafkaLog, KafkaMemoryLog])


@contextmanager
def opened(kind: Callable[..., TopicLog], names: list[str]) -> Iterator[TopicLog]:
    """A log on a broker that has only the topics of these names."""
    with EmbeddedBroker(dict.fromkeys(names, 1)) as broker:
        log = kind(KafkaConfig(broker.bootstrap), topics=TOPICS, group=GroupSettings("g"), log=LOG)
        try:
            yield log
        finally:
            log.close()


@KINDS
def test_a_topic_that_vanished_between_two_looks_is_waited_for(kind: Callable[..., TopicLog]) -> None:
    with opened(kind, [TOPICS.outcomes.name]) as log:
        with pytest.raises(Unavailable):
            log.facts(0, 0)
        with pytest.raises(Unavailable):
            log.shape()


@KINDS
def test_an_empty_log_is_told_as_it_is(kind: Callable[..., TopicLog]) -> None:
    with opened(kind, [spec.name for spec in TOPICS.all()]) as log:
        facts = log.facts(0, 0)
        assert (facts.log, facts.low, facts.high, facts.committed, facts.tip_digest) == (
            LOG,
            0,
            0,
            None,
            None,
        )
        assert (log.shape().partitions, log.shape().reply_partitions) == (1, 1)


def test_the_groups_offset_is_no_fact_for_memory() -> None:
    with opened(KafkaMemoryLog, [spec.name for spec in TOPICS.all()]) as log:
        log.force_offset(0, 0)
        assert log.facts(0, 0).committed is None
    with opened(KafkaLog, [spec.name for spec in TOPICS.all()]) as log:
        log.force_offset(0, 0)
        assert log.facts(0, 0).committed == 0


@KINDS
def test_new_clients_read_on_from_where_they_are_told(
    kind: Callable[..., TopicLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_log, "_SHORTEST_LIFE_SECONDS", 0.0)
    with opened(kind, [spec.name for spec in TOPICS.all()]) as log:
        with Producer(log._config) as producer:
            for value in (b"0", b"1"):
                producer.produce(log._topic, value, partition=0)
            assert producer.drain(PATIENCE)
        assert first_value(log, 0) == b"0"
        log.renew(LOST)
        assert first_value(log, 1) == b"1"


@KINDS
def test_clients_that_did_not_last_are_not_made_anew(kind: Callable[..., TopicLog]) -> None:
    with opened(kind, [spec.name for spec in TOPICS.all()]) as log, pytest.raises(FatalKafkaError):
        log.renew(LOST)


def first_value(log: TopicLog, offset: int) -> bytes | None:
    """Take the partition, and return the message at ``offset``."""
    given: list[int] = []
    log.begin(given.extend, lambda *_: None)
    assert given == [0]
    log.start(0, offset)
    (message,) = log.poll(1, PATIENCE).messages
    return message.value
