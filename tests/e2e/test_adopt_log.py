"""A log that is not as it was: the owner stops by name, the operator sees it and adopts the log."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from runlane.contract.codec import command_headers, encode_command
from runlane.contract.commands import AppendRunRecord
from runlane.kafka import Admin, Consumer, GroupSettings, Partition
from tests.e2e.operating import Stranger, settings
from tests.e2e.stack import PATIENCE, ClickHouse, World, wait_for
from tests.e2e.stopping import LANE, adopt, goes_on, past, seen_stopped, tip_offset
from tests.e2e.workload import note
from tests.harness.kafka import ANSWER_SECONDS, Kafka, KafkaBroker
from tests.service.commands import Process, runlane, runlane_json

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
def world(kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path) -> Iterator[World]:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as made:
        yield made


@pytest.mark.guarantee("G1")
async def test_a_topic_made_anew_is_a_stop_that_adopting_answers(world: World) -> None:
    before = await past(world)
    with Process("owner", **settings(world)) as owner:
        owner.wait_for("owner runs")
        remake_topic(world)
        said = json.loads(owner.wait_for("partition stopped"))
        assert said["stop"] == "log_replaced"
        assert owner.end(signal.SIGTERM) == 0
    with seen_stopped(world, "log_replaced", "runlane adopt-log") as given:
        refused = runlane("adopt-log", "--partition", "0", expect=4, **given)
        assert "members" in refused.stderr
    assert adopt(given, "log_replaced")["lost"] == 0
    await goes_on(world, before)
    assert runlane_json("adopt-log", "--partition", "0", **given) is None


def remake_topic(world: World) -> None:
    """Delete the commands topic and make it anew under its name."""
    kafka = Kafka(world.kafka.bootstrap)
    name = world.topics.commands.name
    kafka.delete_topic(name)
    admin = Admin(world.kafka, timeout=PATIENCE)
    wait_for(lambda: name not in admin.partition_counts(), "the topic is gone")
    admin.create_topics([world.topics.commands], replication_factor=1)


async def test_a_topic_trimmed_past_the_tip_is_a_stop_and_adopting_journals_what_is_lost(
    world: World,
) -> None:
    before = await past(world)
    tip = tip_offset(world)
    stranger = Stranger(world)
    for number in range(5):
        record = note("run", f"late-{number}", session_id="s")
        headers = command_headers(f"late-{number}", 0)
        stranger.send(LANE, encode_command(AppendRunRecord(record)), headers)
    trim(world, tip + 3)
    with seen_stopped(world, "log_trimmed", "runlane adopt-log") as given:
        pass
    assert adopt(given, "log_trimmed") == {
        "partition": 0,
        "kind": "log_trimmed",
        "base": 0,
        "offset": tip + 3,
        "lost": 3,
    }
    await goes_on(world, before)
    rows = world.pool.query(
        "SELECT correlation_id FROM journal WHERE kind = 'answer' AND position >= {tip:Int64}", {"tip": tip}
    )
    assert [name for (name,) in rows if name.startswith("late")] == ["late-3", "late-4"]


def trim(world: World, offset: int) -> None:
    """Delete what stands before ``offset`` of the commands topic."""
    admin: Any = Kafka(world.kafka.bootstrap).admin()
    place = TopicPartition(world.topics.commands.name, 0, offset)
    assert admin.delete_records([place])[place].result(timeout=ANSWER_SECONDS).low_watermark == offset


async def test_a_log_that_ends_before_the_tip_is_a_stop_that_adopting_answers(
    own_kafka_broker: KafkaBroker, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    with World(own_kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as world:
        before = await past(world)
        tip = tip_offset(world)
        lose_the_log(world, own_kafka_broker)
        with seen_stopped(world, "log_truncated", "runlane adopt-log") as given:
            pass
        adopted = adopt(given, "log_truncated")
        assert (adopted["base"], adopted["offset"], adopted["lost"]) == (tip, 0, 0)
        await goes_on(world, before)


def lose_the_log(world: World, broker: KafkaBroker) -> None:
    """Take the commands' partition its segments, as a disk that lost them; it stays the same topic."""
    broker.stop()
    (folder,) = broker._directory.glob(f"data-*/{world.topics.commands.name}-0")
    for file in folder.iterdir():
        if file.name != "partition.metadata":
            file.unlink()
    broker.start()


async def test_a_group_reset_past_the_tip_is_a_stop_that_adopting_answers(world: World) -> None:
    before = await past(world)
    tip = tip_offset(world)
    with Consumer(world.kafka, group=GroupSettings(f"{world.topics.prefix}owners")) as consumer:
        consumer.commit_now({Partition(world.topics.commands.name, 0): tip + 7})
    with seen_stopped(world, "offset_ahead", "runlane adopt-log") as given:
        pass
    adopted = adopt(given, "offset_ahead")
    assert (adopted["base"], adopted["offset"], adopted["lost"]) == (0, tip, 0)
    await goes_on(world, before)
