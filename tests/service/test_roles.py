"""The roles as processes on a real Kafka, and a ClickHouse that is a process of its own."""

import json
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.e2e.stack import ClickHouse
from tests.harness.kafka import Kafka
from tests.harness.ports import free_ports
from tests.service.commands import PATIENCE, Process, runlane, runlane_json

pytestmark = pytest.mark.slow
TOKEN = "worker-token-0123456789"
KEY = "k:0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouse]:
    with ClickHouse(tmp_path_factory.mktemp("clickhouse")) as running:
        yield running


@pytest.fixture
def settings(kafka_broker: Kafka, clickhouse: ClickHouse) -> dict[str, str]:
    """An installation of its own on the shared broker and database."""
    listen, metrics = free_ports(2)
    name = uuid.uuid4().hex[:8]
    return {
        "KAFKA": kafka_broker.bootstrap,
        "CLICKHOUSE": clickhouse.create_database(),
        "TOPIC_PREFIX": f"{name}.",
        "GROUP": name,
        "PARTITIONS": "2",
        "OWNER_KEY": KEY,
        "HOST_KEY": KEY,
        "WORKER_TOKEN": TOKEN,
        "TOKEN": TOKEN,
        "LISTEN": f"127.0.0.1:{listen}",
        "METRICS_LISTEN": f"127.0.0.1:{metrics}",
        "API": f"http://127.0.0.1:{listen}",
    }


def test_an_installation_from_nothing_to_a_sound_demo(settings: dict[str, str], tmp_path: Path) -> None:
    made = runlane_json("topics", **settings)["made"]
    assert len(made) == 8
    assert runlane_json("topics", **settings)["made"] == []
    journal = runlane_json("migrate", **settings)["journal_id"]
    assert runlane_json("migrate", **settings)["journal_id"] == journal
    without_keys = {name: value for name, value in settings.items() if not name.endswith("_KEY")}
    runlane("owner", expect=3, **without_keys)

    with Process("owner", **settings) as owner, Process("gateway", **settings) as gateway:
        owner.wait_for("owner runs")
        gateway.wait_for("gateway serves")
        proof = runlane_json("demo", **settings)
        probes = f"http://{settings['METRICS_LISTEN']}"
        ready = httpx2.get(f"{probes}/readyz", timeout=PATIENCE)
        metrics = httpx2.get(f"{probes}/metrics", timeout=PATIENCE).text
        rejected = runlane_json("rejected", **settings)
        refused = httpx2.get(f"{settings['API']}/v1/sessions", timeout=PATIENCE)
        live = httpx2.get(f"{settings['API']}/readyz", timeout=PATIENCE)
        assert owner.end(signal.SIGTERM) == 0
        assert gateway.end(signal.SIGINT) == 0

    assert proof["sound"] is True
    assert ready.json() == {"ok": True, "faults": {}}
    assert f"runlane_commands_total {float(proof['verify']['commands'])}" in metrics
    assert 'runlane_partitions{phase="open"} 2.0' in metrics
    # A client that waits too long for an answer asks again, and gets another one.
    assert {one["code"] for one in rejected} == {"session_ended"}
    assert (refused.status_code, live.status_code) == (401, 200)
    assert {json.loads(line)["level"] for line in owner.lines} <= {"info", "warning"}
    assert runlane_json("adopt-log", "--partition", "0", **settings) is None


def test_an_owner_without_its_topics_or_tables_stops_with_a_reason(settings: dict[str, str]) -> None:
    missing = runlane("owner", expect=5, **settings)
    assert "runlane topics" in missing.stderr

    runlane("topics", **settings)
    unmigrated = runlane("owner", expect=5, **settings)
    assert "runlane migrate" in unmigrated.stderr
