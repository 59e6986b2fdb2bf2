"""`runlane feed` as its operators run it."""

from __future__ import annotations

import asyncio
import re
import signal
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from runlane.contract.activity import decode_share
from runlane.contract.stream import decode_event
from runlane.contract.topics import Topics
from tests.e2e.stack import ClickHouse, World, wait_for
from tests.harness.kafka import Kafka
from tests.harness.ports import free_ports
from tests.service.commands import PATIENCE, Process, runlane

DOCS = Path(__file__).parents[2] / "docs" / "feed.md"
NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouse]:
    with ClickHouse(tmp_path_factory.mktemp("clickhouse")) as running:
        yield running


async def tell(world: World) -> None:
    async with world.client() as store:
        await store.create_session("s", NOW)
        async with store.run("r", "helper", session_id="s") as run:
            await run.append("assistant_message", {"Message": "never logged"})


def test_the_role_feeds_stream_and_activity(
    kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    (metrics,) = free_ports(1)
    topics = Topics(f"t{uuid.uuid4().hex[:12]}.", 2)
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, topics=topics) as world:
        settings = {
            "KAFKA": kafka_broker.bootstrap,
            "CLICKHOUSE": world.dsn,
            "TOPIC_PREFIX": topics.prefix,
            "FEED_GROUP": topics.prefix,
            "PARTITIONS": "2",
            "METRICS_LISTEN": f"127.0.0.1:{metrics}",
        }
        missing = runlane("feed", expect=5, **settings)
        runlane("topics", **settings)
        runlane("migrate", **settings)
        world.owner(direct=True).wait_until_open(range(2))
        asyncio.run(tell(world))
        with Process("feed", **settings) as feed:
            feed.wait_for("feed runs")
            wait_for(lambda: len(world.messages(topics.stream.name)) >= 3, "the events are there")
            probes = f"http://127.0.0.1:{metrics}"
            wait_for(
                lambda: httpx2.get(f"{probes}/readyz", timeout=PATIENCE).json()["ok"], "the feed is ready"
            )
            counted = httpx2.get(f"{probes}/metrics", timeout=PATIENCE).text
            assert feed.end(signal.SIGTERM) == 0
        again = runlane("feed", "--again", "1", **settings)
        events = [decode_event(message.value or b"") for message in world.messages(topics.stream.name)]
        shares = [decode_share(message.value) for message in world.messages(topics.activity.name)]

    shown = re.findall(r"^runlane (.+)$", DOCS.read_text(), re.MULTILINE)
    assert {line.replace("24", "1") for line in shown} == {"topics", "migrate", "feed", "feed --again 1"}
    assert "runlane topics" in missing.stderr
    assert [event.type for event in events] == ["assistant_reply", "workflow", "run_stream_end"] * 2
    assert events[:3] == events[3:]
    assert "told again: 3 events of 4 records" in again.stderr
    latest = max(shares, key=lambda share: (share.window_start, share.revision))
    assert (latest.agent_id, latest.completions, latest.running) == ("helper", 1, 0)
    assert "runlane_feed_events_total 3.0" in counted
    assert "never logged" not in feed.output + again.stderr
