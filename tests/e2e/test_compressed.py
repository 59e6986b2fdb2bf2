"""A batch that is small until it is unpacked: kept out by the broker, or else refused by the owner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from runlane.contract.codec import command_headers
from runlane.contract.ids import session_lane
from tests.e2e.checks import check_world
from tests.e2e.operating import Stranger, settings
from tests.e2e.stack import ClickHouse, World
from tests.e2e.workload import AT, note, start_of
from tests.harness.kafka import ANSWER_SECONDS, Kafka
from tests.service.commands import runlane_json

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

LANE = session_lane("s").encode()
MIB = 1024 * 1024
LARGE = b"x" * (63 * MIB)
TWICE_UNPACKED = 2 * len(LARGE)
"""Once in the library and once in Python."""


def let_in(world: World) -> None:
    """Set the commands topic as one that somebody made by hand."""
    admin: Any = Kafka(world.kafka.bootstrap).admin()
    entry = ConfigEntry("compression.type", "producer", incremental_operation=AlterConfigOpType.SET)
    place = ConfigResource(ConfigResource.Type.TOPIC, world.topics.commands.name, incremental_configs=[entry])
    admin.incremental_alter_configs([place])[place].result(timeout=ANSWER_SECONDS)


@pytest.mark.parametrize("compression", ["zstd", "gzip", "lz4"])
def test_the_broker_keeps_out_what_unpacks_to_more_than_a_message(
    kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path, compression: str
) -> None:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as world:
        stranger = Stranger(world, compression=compression)
        stranger.queue(LANE, LARGE, command_headers("large", 0))
        stranger.queue(LANE, b"small", command_headers("small", 0))
        stranger.flush()
        assert stranger.refused == ["MSG_SIZE_TOO_LARGE"]
        assert [message.value for message in world.messages(world.topics.commands.name)] == [b"small"]


async def test_what_a_topic_made_by_hand_lets_in_is_refused_by_name_and_not_decoded(
    kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as world:
        let_in(world)
        owner = world.owner()
        async with world.client() as store:
            await store.create_session("s", AT)
            run, started, stopped = start_of("run", "s")
            await store.start_root_run(run, started=started, canceled=stopped)
            before = owner.ask("peak_rss")
            place = Stranger(world, compression="zstd").send(LANE, LARGE, command_headers("large", 0))
            after = await store.append_run_record(note("run", "after", session_id="s"))
            assert (after.id, after.inserted) == ("2", True)
        peak = owner.ask("peak_rss")
        (listed,) = runlane_json("rejected", **settings(world))
        owner.stop()
        assert (listed["partition"], listed["position"], listed["code"]) == (*place, "oversize_message")
        assert peak - before <= TWICE_UNPACKED + 32 * MIB
        check_world(world)
