"""`runlane inspect command`: what an operator is shown of one message of the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.operating import Stranger, settings
from tests.e2e.stack import ClickHouse, World
from tests.e2e.stopping import LANE, past, tip_offset
from tests.harness.kafka import Kafka
from tests.service.commands import runlane, runlane_json

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
def world(kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path) -> Iterator[World]:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as made:
        yield made


async def test_the_command_at_a_position_is_shown_without_its_payload(world: World) -> None:
    await past(world)
    last = tip_offset(world) - 1
    given = settings(world)
    shown = runlane_json("inspect", "command", "0", str(last), **given)
    assert shown.pop("sha256")
    assert shown.pop("size") > 0
    assert shown == {
        "position": last,
        "offset": last,
        "lane": LANE.decode(),
        "operation": "append_run_record",
        "run_id": "run",
        "session_id": "s",
        "agent_id": "agent.test",
    }
    place = Stranger(world).send(LANE, b"SECRET", [])
    other = runlane("inspect", "command", "0", str(place[1]), "--json", **given)
    assert json.loads(other.stdout)["undecodable"] == "unknown_frame"
    assert "SECRET" not in other.stdout
    missing = runlane("inspect", "command", "0", str(place[1] + 1), expect=5, **given)
    assert "no message at offset" in missing.stderr
