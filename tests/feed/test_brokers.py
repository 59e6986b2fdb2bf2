"""The feed on both brokers: it starts, shares its work with one that joins, and goes on when that leaves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runlane.contract.topics import Topics
from runlane.kafka import EmbeddedBroker
from runlane.store.engine import connect
from tests.e2e.stack import ClickHouse, wait_for
from tests.feed.scene import PARTITIONS, Scene, done


@pytest.fixture(params=["embedded", "real"])
def scene(request: pytest.FixtureRequest, clickhouse: ClickHouse) -> Iterator[Scene]:
    dsn = clickhouse.create_database()
    pool = connect(dsn)
    if request.param == "embedded":
        topics = Topics("embedded.", PARTITIONS)
        with EmbeddedBroker({topic.name: topic.partitions for topic in topics.all()}) as broker:
            yield Scene(broker.bootstrap, dsn, pool, topics=topics)
    else:
        yield Scene(request.getfixturevalue("kafka_broker").bootstrap, dsn, pool)
    pool.close()


@pytest.mark.kafka
def test_feeds_join_and_leave_and_nothing_is_missing(scene: Scene) -> None:
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
    assert scene.stream() == scene.mapped()
    assert {key: done(share) for key, share in scene.shares().items() if share.revision} == scene.counted()
