"""A client that is closed and dropped is freed at once, with its threads and connections."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from runlane.kafka import Consumer, EmbeddedBroker, GroupSettings, KafkaConfig, Partition, Producer


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_a_dropped_producer_is_freed_without_the_garbage_collector() -> None:
    with EmbeddedBroker({"t": 1}) as broker:
        for background in (False, True):
            producer = Producer(KafkaConfig(broker.bootstrap), background=background)
            producer.produce("t", b"value", partition=0)
            producer.close()
            freed = weakref.ref(producer)
            del producer
            assert freed() is None


def test_a_dropped_reader_is_freed_without_the_garbage_collector() -> None:
    with EmbeddedBroker({"t": 1}) as broker:
        reader = Consumer(KafkaConfig(broker.bootstrap))
        reader.assign({Partition("t", 0): 0})
        reader.poll(1, 0.01)
        reader.close()
        freed = weakref.ref(reader)
        del reader
        assert freed() is None


def test_a_dropped_member_is_freed_though_its_callbacks_know_it() -> None:
    class Member:
        def __init__(self, bootstrap: str) -> None:
            self.consumer = Consumer(KafkaConfig(bootstrap), group=GroupSettings("g"))
            self.consumer.subscribe(["t"], on_assign=self.hear, on_revoke=self.hear, on_lost=self.hear)

        def hear(self, _: tuple[Partition, ...]) -> None:
            return None

    with EmbeddedBroker({"t": 1}) as broker:
        member = Member(broker.bootstrap)
        member.consumer.poll(1, 0.01)
        member.consumer.close()
        freed = weakref.ref(member.consumer)
        del member
        assert freed() is None
