"""What an owner's log and a memory sink's have in common, on the embedded broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from runlane.contract.errors import Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import EmbeddedBroker, GroupSettings, KafkaConfig
from runlane.owner.kafka_log import KafkaLog
from runlane.store.block import LogId
from runlane.store.memory import KafkaMemoryLog
from runlane.store.topic_log import TopicLog

TOPICS = Topics(partitions=1)
LOG = LogId("cluster", "topic")
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
