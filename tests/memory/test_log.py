"""What every memory of runs does (cases of section memory): the one in this process, and the sink's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from itertools import product
from typing import Any, cast

import pytest

from runlane.client import MemoryEvents
from runlane.contract.errors import EventConflict, InvalidCommand
from runlane.contract.memory import (
    MemoryLog,
    MemorySnapshot,
    PlannerNoteData,
    UserMessageData,
    read_data,
)
from runlane.kafka import KafkaConfig
from runlane.store.engine import ClientPool
from tests.memory.stack import broker, client, sink, table
from tests.stream.records import T0


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaConfig, ClientPool]]:
    """A broker and a database with a sink between them."""
    path = tmp_path_factory.mktemp("memory") / "engine"
    with table(path) as (pool, store), broker() as kafka, sink(kafka, store):
        yield kafka, pool


@pytest.fixture(params=["in this process", "sink"])
async def memory(request: pytest.FixtureRequest) -> AsyncIterator[MemoryLog]:
    if request.param == "in this process":
        yield MemoryEvents()
        return
    kafka, pool = request.getfixturevalue("stored")
    async with client(kafka, pool) as store:
        # Each test finds the runs that it names as if nobody had used them.
        for agent, run in product(("agent", "a", "b"), ("run", "r")):
            await store.memory.delete_run(agent, run)
        yield store.memory


def notes(snapshot: MemorySnapshot) -> list[str]:
    return [read_data(event, PlannerNoteData).note for event in snapshot.events]


@pytest.mark.case("C368")
async def test_an_unknown_run_remembers_nothing(memory: MemoryLog) -> None:
    assert await memory.load_run("agent", "run") == MemorySnapshot("agent", "run")
    await memory.append_events("agent", "run", [])
    assert await memory.load_run("agent", "run") == MemorySnapshot("agent", "run")


@pytest.mark.case("C370")
async def test_two_agents_remember_apart(memory: MemoryLog) -> None:
    await memory.append_events("a", "run", [PlannerNoteData("1").event(T0)])
    await memory.append_events("b", "run", [PlannerNoteData("2").event(T0)])
    await memory.append_events("a", "run", [PlannerNoteData("3").event(T0)])
    assert notes(await memory.load_run("a", "run")) == ["1", "3"]
    assert notes(await memory.load_run("b", "run")) == ["2"]


@pytest.mark.case("C371")
async def test_what_a_caller_changes_stays_with_the_caller(memory: MemoryLog) -> None:
    given: dict[str, Any] = {"list": ["as it was"]}
    await memory.append_events("a", "r", [UserMessageData("m", given).event(T0, {"l": "1"})])
    given["list"].append("changed")
    loaded = (await memory.load_run("a", "r")).events[0]
    cast("dict[str, Any]", loaded.data)["structured"]["list"].append("changed")
    cast("dict[str, str]", loaded.labels)["l"] = "2"
    again = (await memory.load_run("a", "r")).events[0]
    assert (again.data["structured"], again.labels) == ({"list": ["as it was"]}, {"l": "1"})


async def test_events_are_appended_all_or_none(memory: MemoryLog) -> None:
    good, bad = PlannerNoteData("1").event(T0), UserMessageData(structured=float("inf")).event(T0)
    with pytest.raises(InvalidCommand):
        await memory.append_events("a", "r", [good, bad])
    assert (await memory.load_run("a", "r")).events == ()


def test_threads_append_at_once() -> None:
    memory = MemoryEvents()

    async def append(writer: int) -> None:
        for number in range(50):
            await memory.append_events("a", "r", [PlannerNoteData(f"{writer}/{number}").event(T0)])

    threads = [threading.Thread(target=lambda n=n: asyncio.run(append(n))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = notes(asyncio.run(memory.load_run("a", "r")))
    for writer in range(4):
        assert [note for note in found if note.startswith(f"{writer}/")] == [
            f"{writer}/{n}" for n in range(50)
        ]


async def test_what_is_deleted_is_forgotten_and_what_follows_is_remembered(memory: MemoryLog) -> None:
    await memory.append_events("a", "r", [PlannerNoteData("1").event(T0)])
    await memory.append_events("b", "r", [PlannerNoteData("2").event(T0)])
    await memory.delete_run("a", "r")
    assert (await memory.load_run("a", "r")).events == ()
    assert notes(await memory.load_run("b", "r")) == ["2"]
    await memory.append_events("a", "r", [PlannerNoteData("3").event(T0)])
    assert notes(await memory.load_run("a", "r")) == ["3"]


async def test_an_append_of_one_key_happens_once(memory: MemoryLog) -> None:
    for _ in range(2):
        await memory.append_events("b", "run", [PlannerNoteData("1").event(T0)], key="k")
    with pytest.raises(EventConflict):
        await memory.append_events("b", "run", [PlannerNoteData("2").event(T0)], key="k")
    await memory.delete_run("b", "run")
    await memory.append_events("b", "run", [PlannerNoteData("1").event(T0)], key="k")
    assert (await memory.load_run("b", "run")).events == ()
