"""The memory sink from one life to the next: its engine stays, its broker does not."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from runlane.client import RunStore
from runlane.contract.memory import PlannerNoteData, read_data
from runlane.store.stops import StopKind
from tests.memory.stack import TOPICS, broker, client, notes, sink, table, wait_for

pytestmark = pytest.mark.slow


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


async def test_two_sinks_that_both_hold_every_partition_store_each_event_once(tmp_path: Path) -> None:
    """What a frozen sink is once it thaws: a second writer of the same chains."""
    with table(tmp_path / "engine") as (pool, store), broker() as kafka, ExitStack() as sinks:
        rivals = [sinks.enter_context(sink(kafka, store)) for _ in range(2)]
        async with client(kafka, pool) as runs:

            async def remember(run: str) -> None:
                for number in range(15):
                    await runs.memory.append_events("a", run, notes(f"{number}.0", f"{number}.1"))

            await asyncio.gather(*map(remember, ("r0", "r1", "r2")))
            for run in ("r0", "r1", "r2"):
                assert await texts(runs, "a", run) == [f"{n}.{i}" for n in range(15) for i in range(2)]
        assert not any(rival.stops() for rival in rivals)
        appends = pool.query("SELECT count(), uniqExact(append_key) FROM memory_events WHERE kind = 'append'")
        assert [tuple(row) for row in appends] == [(45, 45)]
