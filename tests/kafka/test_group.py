"""Members of a group share partitions; each starts paused and knows what it gains and loses."""

import threading
from dataclasses import dataclass, field

import pytest

from runlane.kafka import Consumer, EmbeddedBroker, GroupSettings, KafkaConfig, Partition
from runlane.kafka import consumer as consumer_module
from tests.harness import new_topic_prefix
from tests.kafka.conftest import MakeTopic
from tests.kafka.reading import read, until, write

PARTITIONS = 4


@dataclass
class Member:
    """A consumer of a group, with the partitions that it holds by its callbacks."""

    consumer: Consumer
    held: set[Partition] = field(default_factory=set)
    lost: set[Partition] = field(default_factory=set)

    def join(self, topic: str) -> None:
        self.consumer.subscribe(
            [topic],
            on_assign=self.held.update,
            on_revoke=self.held.difference_update,
            on_lost=self.lost.update,
        )


@pytest.fixture
def settings() -> GroupSettings:
    return GroupSettings(new_topic_prefix() + "group", session_timeout_ms=5000, heartbeat_interval_ms=200)


@pytest.fixture
def topic(make_topic: MakeTopic) -> str:
    return make_topic(PARTITIONS)


def test_an_assigned_partition_is_paused_until_it_is_started(
    config: KafkaConfig, topic: str, settings: GroupSettings
) -> None:
    write(config, topic, [b"a", b"b", b"c"], partition=2)
    with Consumer(config, group=settings) as consumer:
        member = Member(consumer)
        member.join(topic)
        until(lambda: len(member.held) == PARTITIONS, lambda: consumer.poll(10, 0.05))
        assert consumer.poll(10, 0.3).messages == ()
        consumer.start(Partition(topic, 2), 1)
        assert [message.value for message in read(consumer, 2)] == [b"b", b"c"]


@pytest.mark.slow
def test_two_members_share_and_the_one_that_stays_gets_all(
    config: KafkaConfig, topic: str, settings: GroupSettings
) -> None:
    with Consumer(config, group=settings) as staying:
        first = Member(staying)
        first.join(topic)
        until(lambda: len(first.held) == PARTITIONS, lambda: staying.poll(10, 0.05))
        with Consumer(config, group=settings) as leaving:
            second = Member(leaving)
            second.join(topic)

            def step() -> None:
                staying.poll(10, 0.05)
                leaving.poll(10, 0.05)

            until(lambda: len(first.held) == len(second.held) == PARTITIONS // 2, step)
            assert not first.held & second.held
            staying.commit_now(dict.fromkeys(first.held, 0))
        until(lambda: len(first.held) == PARTITIONS, lambda: staying.poll(10, 0.05))
    assert first.lost == set()


@pytest.mark.parametrize(("lost", "patience"), [(False, 0.05), (True, 600.0)])
def test_a_member_whose_brokers_are_gone_lets_go(
    monkeypatch: pytest.MonkeyPatch, lost: bool, patience: float
) -> None:
    monkeypatch.setattr(consumer_module, "_LEAVE_SECONDS", patience)
    before = set(threading.enumerate())
    with EmbeddedBroker({"t": 1}) as broker:
        consumer = Consumer(KafkaConfig(broker.bootstrap), group=GroupSettings("g"))
        member = Member(consumer)
        member.join("t")
        until(lambda: member.held == {Partition("t", 0)}, lambda: consumer.poll(1, 0.05))
    for _ in range(3):
        consumer.commit({Partition("t", 0): 0})
        consumer.poll(1, 0.05)
    consumer._stranding.lost = lost
    consumer.close()
    left = {thread.name for thread in threading.enumerate() if thread not in before}
    assert left == {"runlane-leaving"}, "the library goes on waiting for the commits, and nobody waits for it"
