"""The memory sink from one life to the next: its engine stays, its broker does not."""

from __future__ import annotations

from pathlib import Path

from runlane.client import RunStore
from runlane.contract.memory import PlannerNoteData, read_data
from runlane.store.stops import StopKind
from tests.memory.stack import TOPICS, broker, client, notes, sink, table, wait_for


async def texts(store: RunStore, agent: str, run: str) -> list[str]:
    snapshot = await store.memory.load_run(agent, run)
    return [read_data(event, PlannerNoteData).note for event in snapshot.events]


async def test_memory_outlives_its_broker(tmp_path: Path) -> None:
    """The embedded broker is empty at each start: the sink goes on behind what it has."""
    with table(tmp_path / "engine") as (pool, store):
        for life in ("one", "two"):
            with broker() as kafka, sink(kafka, store, life):
                async with client(kafka, pool) as runs:
                    await runs.memory.append_events("a", "r", notes(life))
                    remembered = await texts(runs, "a", "r")
        assert remembered == ["one", "two"]


async def test_another_log_is_a_stop_unless_it_is_adopted(tmp_path: Path) -> None:
    with table(tmp_path / "engine") as (pool, store):
        with broker() as kafka, sink(kafka, store, "one"):
            async with client(kafka, pool) as runs:
                await runs.memory.append_events("a", "r", notes("one"))
        with broker() as kafka, sink(kafka, store, "two", frozenset()) as refusing:
            wait_for(lambda: len(refusing.stops()) == TOPICS.partitions, "every partition stops")
            assert {stop.kind for stop in refusing.stops().values()} == {StopKind.LOG_REPLACED}
            assert refusing.open_partitions == 0
