"""The feed on both brokers: it starts, others join, take over and leave, and nothing is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runlane.contract.topics import Topics
from runlane.kafka import EmbeddedBroker
from runlane.store.engine import ClientPool, connect
from tests.e2e.stack import ClickHouse, wait_for
from tests.feed.scene import PARTITIONS, Scene, done
from tests.harness.kafka import Kafka


@pytest.fixture
def journal(clickhouse: ClickHouse) -> Iterator[tuple[str, ClientPool]]:
    dsn = clickhouse.create_database()
    pool = connect(dsn)
    yield dsn, pool
    pool.close()


@pytest.fixture(autouse=True)
def nothing_is_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.iterdir())


def all_is_told(scene: Scene) -> None:
    assert scene.stream() == scene.mapped()
    assert {key: done(share) for key, share in scene.shares().items() if share.revision} == scene.counted()


def test_feeds_join_and_leave_and_nothing_is_missing(
    kafka_broker: Kafka, journal: tuple[str, ClientPool]
) -> None:
    scene = Scene(kafka_broker.bootstrap, *journal)
    scene.tell(2_000, lanes=20, block=100)
    with scene.thread() as stays:
        wait_for(lambda: not stays.faults() and scene.streamed() > 0, "the first feed is at work")
        with scene.thread() as leaves:
            wait_for(
                lambda: (
                    stays.feed.partitions + leaves.feed.partitions == PARTITIONS and leaves.feed.partitions
                ),
                "the partitions are shared",
            )
            scene.tell_more(1_000, block=50)
            wait_for(lambda: scene.behind() == 0, "everything is fed")
            fed_by_both = (stays.feed.counts.events, leaves.feed.counts.events)
        wait_for(lambda: stays.feed.partitions == PARTITIONS, "the first feed has all of them again")
        scene.tell_more(1_000, block=50)
        wait_for(lambda: scene.behind() == 0, "everything is fed")
        stays.check()
        leaves.check()

    assert all(fed_by_both)
    all_is_told(scene)


@pytest.mark.slow
def test_on_the_embedded_broker_a_feed_takes_over_from_another(journal: tuple[str, ClientPool]) -> None:
    topics = Topics("embedded.", PARTITIONS)
    with EmbeddedBroker({topic.name: topic.partitions for topic in topics.all()}) as broker:
        scene = Scene(broker.bootstrap, *journal, topics=topics)
        scene.tell(2_000, lanes=20, block=100)
        with scene.thread() as first:
            wait_for(lambda: scene.behind() == 0, "everything is fed")
            first.check()
        scene.tell_more(500, block=50)
        with scene.thread() as last:
            wait_for(lambda: scene.behind() == 0, "everything is fed")
            last.check()
        all_is_told(scene)
