"""A memory sink whose Kafka clients fail for good goes on with new ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from runlane.client import RunStore
from runlane.contract.errors import FatalKafkaError
from runlane.contract.memory import PlannerNoteData, read_data
from runlane.kafka import Polled
from runlane.store import topic_log
from runlane.store.memory import KafkaMemoryLog
from tests.memory.stack import broker, client, notes, sink, table, wait_for

pytestmark = pytest.mark.slow


async def remembered(store: RunStore) -> list[str]:
    snapshot = await store.memory.load_run("agent", "run")
    return [read_data(event, PlannerNoteData).note for event in snapshot.events]


async def test_it_stores_on_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poll = KafkaMemoryLog.poll
    due: list[FatalKafkaError] = []

    def failing(log: KafkaMemoryLog, max_messages: int, timeout: float) -> Polled:
        if due:
            raise due.pop()
        return poll(log, max_messages, timeout)

    monkeypatch.setattr(KafkaMemoryLog, "poll", failing)
    monkeypatch.setattr(topic_log, "_SHORTEST_LIFE_SECONDS", 0.0)
    with table(tmp_path / "engine") as (pool, memory), broker() as kafka, sink(kafka, memory):
        async with client(kafka, pool) as store:
            await store.memory.append_events("agent", "run", notes("one"))
            due.append(FatalKafkaError("every broker is lost"))
            wait_for(lambda: not due, "the clients failed")
            await store.memory.append_events("agent", "run", notes("two"))
            assert await remembered(store) == ["one", "two"]
