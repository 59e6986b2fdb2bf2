"""A hundred thousand records on a real broker, a feed that is killed, one that joins and one that leaves."""

from __future__ import annotations

import signal

import pytest

from runlane.store.engine import connect
from tests.e2e.stack import ClickHouse, wait_for
from tests.feed.scene import Scene, done
from tests.harness.kafka import Kafka
from tests.harness.ports import free_ports

RECORDS = 100_000


@pytest.mark.long
def test_the_stream_is_the_mapping_of_the_journal_whatever_happens_to_feeds(
    kafka_broker: Kafka, clickhouse: ClickHouse
) -> None:
    dsn = clickhouse.create_database()
    pool = connect(dsn)
    scene = Scene(kafka_broker.bootstrap, dsn, pool)
    scene.tell(RECORDS, lanes=400, block=2_000)
    ports = free_ports(3)

    with scene.feed(ports[0]) as first:
        wait_for(lambda: scene.streamed() > RECORDS // 10, "the first feed is at work")
        first.end(signal.SIGKILL)
    with scene.feed(ports[1]) as second, scene.feed(ports[2]) as third:
        wait_for(lambda: scene.streamed() > RECORDS // 3, "the second feed goes on")
        assert second.end(signal.SIGTERM) == 0
        wait_for(lambda: scene.behind() == 0, "the third feed is at the end", seconds=120.0)
        assert third.end(signal.SIGTERM) == 0

    stream, mapped = scene.stream(), scene.mapped()
    assert len(stream) > RECORDS // 2
    assert stream == mapped
    assert {key: done(share) for key, share in scene.shares().items() if share.revision} == scene.counted()
    assert scene.running() == scene.unended()
    assert scene.streamed() > len(stream), "something was told again, else nothing was tried"
    pool.close()
