"""What products remember, through the embedded stack and through the role as a process on a real Kafka."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from runlane.client import ClientOptions, RunStore, SyncRunStore
from runlane.contract.errors import RunNotFound
from runlane.contract.memory import MemoryType, PlannerNoteData, UserMessageData, read_data
from runlane.service.embedded.folder import CONNECTION_FILE, DataFolder
from runlane.service.embedded.stack import EmbeddedStack
from runlane.service.verify import verify_journal
from tests.e2e.stack import ClickHouse
from tests.harness.kafka import Kafka
from tests.harness.ports import free_ports
from tests.service.commands import PATIENCE, Process, runlane

pytestmark = pytest.mark.slow
TOKEN = "worker-token-0123456789"
NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def test_memory_through_the_embedded_stack_outlives_it(tmp_path: Path) -> None:
    connection = tmp_path / CONNECTION_FILE
    for life in ("first", "second"):
        with DataFolder(tmp_path) as folder, EmbeddedStack(folder) as stack:
            async with RunStore.from_connection(connection) as store:
                events = [UserMessageData(f"{life} {n}").event(NOW) for n in range(3)]
                await store.memory.append_events("an/agent", "r 1", events)
                snapshot = await store.memory.load_run("an/agent", "r 1")
                await store.memory.append_events("a", life, events)
                await store.memory.delete_run("a", life)
                assert (await store.memory.load_run("a", life)).events == ()
            with stack.pool.client() as client:
                report = verify_journal(client)
            assert (report.memory_events, report.faults) == (6 if life == "first" else 12, [])
    messages = [read_data(event, UserMessageData).message for event in snapshot.events]
    assert messages == [f"{life} {n}" for life in ("first", "second") for n in range(3)]


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouse]:
    with ClickHouse(tmp_path_factory.mktemp("clickhouse")) as running:
        yield running


def test_the_role_stores_what_products_remember(kafka_broker: Kafka, clickhouse: ClickHouse) -> None:
    listen, metrics = free_ports(2)
    name = uuid.uuid4().hex[:8]
    viewer = "viewer-token-0123456789"
    settings = {
        "KAFKA": kafka_broker.bootstrap,
        "CLICKHOUSE": clickhouse.create_database(),
        "TOPIC_PREFIX": f"{name}.",
        "MEMORY_GROUP": name,
        "PARTITIONS": "2",
        "WORKER_TOKEN": TOKEN,
        "VIEWERS": f'[{{"token": "{viewer}", "prefixes": [""]}}]',
        "LISTEN": f"127.0.0.1:{listen}",
        "METRICS_LISTEN": f"127.0.0.1:{metrics}",
    }
    missing = runlane("memory-sink", expect=5, **settings)
    assert "runlane topics" in missing.stderr
    runlane("topics", **settings)
    runlane("migrate", **settings)
    # Nothing is asked twice, so that the messages can be counted.
    api, options = f"http://127.0.0.1:{listen}", ClientOptions(timeout=PATIENCE, answer_wait=PATIENCE)

    with Process("memory-sink", **settings) as sink, Process("gateway", **settings) as gateway:
        sink.wait_for("memory sink runs")
        gateway.wait_for("gateway serves")
        with SyncRunStore.connect(
            kafka_broker.bootstrap, api, token=TOKEN, topic_prefix=f"{name}.", options=options
        ) as store:
            store.memory.append_events("a", "r", [PlannerNoteData("remember me").event(NOW)])
            latest = store.memory.load_run("a", "r").latest(MemoryType.PLANNER_NOTE)
            assert latest is not None
            assert read_data(latest, PlannerNoteData).note == "remember me"
        seen = SyncRunStore.connect(
            kafka_broker.bootstrap, api, token=viewer, topic_prefix=f"{name}.", options=options
        )
        # As for every place that a token does not reach: no word that it exists.
        with seen as looking, pytest.raises(RunNotFound):
            looking.memory.load_run("a", "r")
        ready = httpx2.get(f"http://127.0.0.1:{metrics}/readyz", timeout=PATIENCE)
        counted = httpx2.get(f"http://127.0.0.1:{metrics}/metrics", timeout=PATIENCE).text
        assert sink.end(signal.SIGTERM) == 0
        assert gateway.end(signal.SIGTERM) == 0

    assert ready.json() == {"ok": True, "faults": {}}
    assert "runlane_memory_messages_total 1.0" in counted
    assert "remember me" not in "\n".join(sink.lines + gateway.lines)
