"""What every memory of runs does (cases of section memory), shown on the one in this process."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest

from runlane.client import MemoryEvents
from runlane.contract.errors import InvalidCommand
from runlane.contract.memory import (
    MemoryLog,
    MemorySnapshot,
    PlannerNoteData,
    UserMessageData,
    read_data,
)
from tests.stream.records import T0


@pytest.fixture
def memory() -> MemoryLog:
    return MemoryEvents()


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


def test_threads_append_at_once(memory: MemoryLog) -> None:
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
