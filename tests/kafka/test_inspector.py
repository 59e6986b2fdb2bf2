"""A log can be looked at before it is trusted, from any thread."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from runlane.contract.errors import Unavailable
from runlane.kafka import Consumer, EmbeddedBroker, GroupSettings, Inspector, KafkaConfig, Partition
from tests.harness import Kafka, new_topic_prefix
from tests.kafka.conftest import MakeTopic
from tests.kafka.reading import PATIENCE_SECONDS, until, write
from tests.kafka.test_consumer import trim

VALUES = [b"%d" % number for number in range(10)]


@pytest.fixture
def partition(config: KafkaConfig, make_topic: MakeTopic) -> Partition:
    topic = make_topic()
    write(config, topic, VALUES)
    return Partition(topic, 0)


@pytest.fixture
def inspector(config: KafkaConfig) -> Iterator[Inspector]:
    with Inspector(config, group=new_topic_prefix() + "group", timeout=PATIENCE_SECONDS) as made:
        yield made


def test_it_finds_any_message_the_log_has(inspector: Inspector, partition: Partition) -> None:
    found = [inspector.message_at(partition, offset) for offset in (9, 0, 4, 10, 99, -1)]
    assert [message and message.value for message in found] == [b"9", b"0", b"4", None, None, None]


def test_a_trimmed_message_is_none(
    cluster: Kafka | EmbeddedBroker, inspector: Inspector, partition: Partition
) -> None:
    trim(cluster, partition.topic, before=6)
    assert inspector.watermarks(partition) == (6, 10)
    assert inspector.message_at(partition, 5) is None
    found = inspector.message_at(partition, 6)
    assert found is not None
    assert found.value == b"6"


def test_several_threads_take_turns(inspector: Inspector, partition: Partition) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda offset: inspector.message_at(partition, offset), range(10)))
    assert [message and message.value for message in found] == VALUES


def test_it_sets_and_reads_the_group_s_offset(inspector: Inspector, partition: Partition) -> None:
    assert inspector.committed(partition) is None
    inspector.force_offset(partition, 7)
    assert inspector.committed(partition) == 7
    inspector.force_offset(partition, 0)
    assert inspector.committed(partition) == 0


def test_the_offset_of_a_group_with_members_stays(config: KafkaConfig, partition: Partition) -> None:
    settings = GroupSettings(new_topic_prefix() + "group")
    held: list[Partition] = []
    with Inspector(config, group=settings.group) as inspector, Consumer(config, group=settings) as member:
        member.subscribe([partition.topic], on_assign=held.extend, on_revoke=print, on_lost=print)
        until(lambda: held == [partition], lambda: member.poll(1, 0.05))
        with pytest.raises(Unavailable):
            inspector.force_offset(partition, 3)
        assert inspector.committed(partition) is None
