"""Memory over the read API: whole to a worker and a host, in pages, hidden from viewers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from runlane.client import Api, HttpReader, KafkaMemory, MemoryEvents
from runlane.client.asking import Asking
from runlane.client.exchange import Exchange
from runlane.client.memory_lanes import MemoryLanes
from runlane.client.options import ClientOptions
from runlane.contract.errors import InvalidCommand, NotPermitted, RunNotFound
from runlane.contract.memory import PlannerNoteData, UserMessageData
from runlane.contract.reader import SessionScope
from runlane.gateway import Access, Parts, Role, Token, create_app
from tests.gateway.memory_reader import MemoryReader
from tests.stream.records import T0

TOKENS = (
    Token("worker-secret", Role.WORKER),
    Token("host-secret", Role.HOST),
    Token("viewer-secret", Role.VIEWER, SessionScope(prefixes=("",))),
)
EVENTS = [UserMessageData(f"{number}", {"n": 2**70}).event(T0, {"l": "1"}) for number in range(1_203)]


@pytest.fixture
def memory() -> MemoryEvents:
    return MemoryEvents()


async def reading(memory: MemoryEvents, token: str) -> AsyncIterator[HttpReader]:
    app = create_app(MemoryReader(), Access(TOKENS), parts=Parts(memory=memory))
    reader = HttpReader(
        lambda: Api("http://gateway", token),
        options=ClientOptions(timeout=60.0),
        transport=httpx2.ASGITransport(app),
    )
    yield reader
    await reader.aclose()


@pytest.mark.parametrize("token", ["worker-secret", "host-secret"])
async def test_what_a_run_remembers_comes_whole_and_in_order(memory: MemoryEvents, token: str) -> None:
    await memory.append_events("an/agent", "r 1~", EVENTS)
    options = ClientOptions(timeout=60.0)
    asking = Asking(Exchange(MemoryLanes(lambda: T0, host=True), options), options)
    async for reader in reading(memory, token):
        client = KafkaMemory(asking, reader, options)
        assert list((await client.load_run("an/agent", "r 1~")).events) == EVENTS
        assert (await client.load_run("an/agent", "other")).events == ()


async def test_a_deletion_between_two_pages_begins_the_snapshot_anew(memory: MemoryEvents) -> None:
    class Deleting:
        """Deletes the run's memory once its first page was read."""

        pages = 0

        async def memory_page(self, agent_id: str, run_id: str, cursor: str, limit: int) -> object:
            page = await memory.memory_page(agent_id, run_id, cursor, limit)
            self.pages += 1
            if self.pages == 1:
                await memory.delete_run(agent_id, run_id)
                await memory.append_events(agent_id, run_id, EVENTS[:700])
            return page

    await memory.append_events("a", "r", EVENTS)
    options = ClientOptions(timeout=60.0)
    asking = Asking(Exchange(MemoryLanes(lambda: T0, host=True), options), options)
    client = KafkaMemory(asking, Deleting(), options)  # type: ignore[arg-type]
    assert list((await client.load_run("a", "r")).events) == EVENTS[:700]


async def test_viewers_and_strangers_see_no_memory(memory: MemoryEvents) -> None:
    await memory.append_events("a", "r", [PlannerNoteData("secret").event(T0)])
    for token, refusal in (("viewer-secret", RunNotFound), ("wrong", NotPermitted), ("", NotPermitted)):
        async for reader in reading(memory, token):
            with pytest.raises(refusal):
                await reader.memory_page("a", "r", "", 10)


@pytest.mark.parametrize(("cursor", "limit"), [("x", 1), ("-1", 1), ("", 0)])
async def test_impossible_bounds_are_refused(memory: MemoryEvents, cursor: str, limit: int) -> None:
    async for reader in reading(memory, "worker-secret"):
        with pytest.raises(InvalidCommand):
            await reader.memory_page("a", "r", cursor, limit)
