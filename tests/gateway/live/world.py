"""A gateway with streams over lanes in memory, and a records topic that a test can hold, repeat and lose."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx2

from runlane.client import MemoryEvents, MemoryStore, Run
from runlane.client.sse import EventParser, ServerEvent
from runlane.contract.activity import ActivityShare
from runlane.contract.errors import RunNotFound
from runlane.contract.ids import run_lane
from runlane.contract.payloads import RUN_COMPLETED, RUN_SUSPENDED
from runlane.contract.reader import SessionScope
from runlane.contract.values import CommittedRecord, RunMeta
from runlane.gateway import Access, Activity, Caps, Live, Page, Parts, Role, TicketBook, Token, create_app
from runlane.gateway.live import ActivitySink, Happened, Sink
from runlane.gateway.live.summary import tokens_of
from runlane.service.api_server import ApiServer
from runlane.store.live import RunFacts

WORKER, HOST, VIEWER = (f"{name}-token-0123456789" for name in ("worker", "host", "viewer"))
TOKENS = (
    Token(WORKER, Role.WORKER),
    Token(HOST, Role.HOST),
    Token(VIEWER, Role.VIEWER, SessionScope(ids=("mine",), prefixes=("team-",))),
)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PATIENCE = 60.0


class Topic:
    """The records topic: ``Source`` of the gateway under test."""

    def __init__(self) -> None:
        self.sink: Sink | None = None
        self.closed = False
        self.ready = True

    def start(self, sink: Sink) -> None:
        self.sink = sink
        if self.ready:
            sink.ready()

    def close(self) -> None:
        self.closed = True

    def send(self, happened: Iterable[Happened]) -> None:
        """Hand on what somebody wants."""
        if self.sink is not None:
            wanted = [one for one in happened if self.sink.wants(one.lane)]
            if wanted:
                self.sink.take(wanted)


class MemoryHistory:
    """``History`` over the lanes of a store."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def run_lane(self, run_id: str) -> str:
        claim = self._store.lanes.lane(run_lane(run_id)).claim(run_id)
        if claim is None:
            raise RunNotFound("unknown")
        return claim.lane

    async def head(self, lane: str, run_id: str = "") -> int:
        records = [one for one in self._store.lanes.history(lane) if one.run_id]
        numbers = (
            [one.seq for one in records if one.run_id == run_id]
            if run_id
            else [one.lane_seq for one in records]
        )
        return max(numbers, default=0)

    async def facts(self, runs: Sequence[RunMeta], dull: Sequence[str]) -> Mapping[str, RunFacts]:
        found = {}
        for run in runs:
            records = self._store.lanes.run_history(run.run_id)
            told = [one for one in records if one.type not in dull]
            spoken = [one for one in told if one.type not in {RUN_COMPLETED, RUN_SUSPENDED}]
            last = (one[-1] if one else None for one in (told, spoken))
            found[run.run_id] = RunFacts(len(records), sum(map(tokens_of, records)), *last)
        return found


@dataclass
class Reading:
    """The events of one open stream."""

    response: httpx2.Response
    events: asyncio.Queue[ServerEvent | None] = field(default_factory=asyncio.Queue)

    async def pump(self) -> None:
        parser = EventParser()
        try:
            async for piece in self.response.aiter_bytes():
                for event in parser.feed(piece):
                    self.events.put_nowait(event)
        except httpx2.TransportError:
            pass
        self.events.put_nowait(None)

    async def next(self) -> ServerEvent | None:
        """Return the next event, None at the end of the answer."""
        async with asyncio.timeout(PATIENCE):
            return await self.events.get()

    async def take(self, count: int) -> list[ServerEvent]:
        """Return the next events."""
        return [event for _ in range(count) if (event := await self.next()) is not None]

    async def until(self, name: str) -> list[ServerEvent]:
        """Return the events up to one of that name."""
        found: list[ServerEvent] = []
        while not found or found[-1].name != name:
            event = await self.next()
            assert event is not None, f"the stream ended after {[one.name for one in found]}"
            found.append(event)
        return found

    async def rest(self) -> list[ServerEvent]:
        """Return the events up to the end of the answer."""
        return [event async for event in self]

    async def __aiter__(self) -> AsyncGenerator[ServerEvent]:
        while (event := await self.next()) is not None:
            yield event


class Shares:
    """The activity topic: ``ActivitySource`` of the gateway under test; ``kept`` is what it held before."""

    def __init__(self) -> None:
        self.sink: ActivitySink | None = None
        self.kept: list[ActivityShare] = []
        self.ready = True
        self.closed = False

    def start(self, sink: ActivitySink) -> None:
        self.sink = sink
        sink.take(self.kept)
        if self.ready:
            sink.ready()

    def close(self) -> None:
        self.closed = True

    def send(self, *shares: ActivityShare) -> None:
        """Hand on new shares."""
        assert self.sink is not None
        self.sink.take(shares)


class World:
    """A served gateway: ``store`` writes, ``publish`` brings what was written to the topic."""

    def __init__(self, access: Access | None = None, caps: Caps | None = None) -> None:
        self.store = MemoryStore(clock=lambda: NOW)
        self.topic = Topic()
        self.live = Live(self.topic, MemoryHistory(self.store), self.store)
        self.shares = Shares()
        self.activity = Activity(self.shares, now=lambda: NOW)
        self.links = TicketBook[str]()
        self.memory = MemoryEvents()
        self.parts = Parts(
            streams=self.live,
            activity=self.activity,
            memory=self.memory,
            host=self.store,
            page=Page(),
            caps=caps or Caps(),
            links=self.links,
        )
        self.app = create_app(self.store, access or Access(TOKENS), parts=self.parts)
        self._published: dict[str, int] = {}
        self.url = ""

    def unpublished(self) -> list[CommittedRecord]:
        """Return what was written since the last time, as published from now on."""
        fresh: list[CommittedRecord] = []
        for lane in self.store.lanes.all():
            after = self._published.get(lane.lane, 0)
            fresh += [one for one in self.store.lanes.history(lane.lane) if one.lane_seq > after]
        self._published |= {one.lane: one.lane_seq for one in fresh}
        return fresh

    def publish(self) -> None:
        """Bring what was written to the topic."""
        self.topic.send(self.unpublished())

    def client(self, token: str = WORKER) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False)

    @asynccontextmanager
    async def stream(
        self, path: str, token: str = WORKER, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Reading]:
        """Open a stream that must be granted."""
        async with self.client(token) as http, http.stream("GET", path, headers=headers or {}) as response:
            assert response.status_code == 200, await response.aread()
            reading = Reading(response)
            pump = asyncio.create_task(reading.pump())
            try:
                yield reading
            finally:
                pump.cancel()
                await asyncio.gather(pump, return_exceptions=True)

    async def session(self, session_id: str = "mine") -> None:
        await self.store.create_session(session_id, NOW)

    async def quiet(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds inside of the gateway."""
        async with asyncio.timeout(PATIENCE):
            while not holds():  # noqa: ASYNC110 - the gateway has nothing to tell a test by
                await asyncio.sleep(0.01)


def serve(world: World) -> AbstractAsyncContextManager[World]:
    """Serve a world on a port of its own."""

    @asynccontextmanager
    async def serving() -> AsyncGenerator[World]:
        server = ApiServer(world.app, ("127.0.0.1", 0))
        with server:
            world.url = server.url
            try:
                yield world
            finally:
                world.live.stop()
                world.activity.stop()

    return serving()


def data(event: ServerEvent | None) -> Any:
    """Return what an event says."""
    assert event is not None
    return json.loads(event.data)


def numbers(events: Iterable[ServerEvent]) -> list[int]:
    """Return the ids of the records among events."""
    return [int(event.id or 0) for event in events if event.name == "record"]


async def begin(world: World, run_id: str = "r", session_id: str = "mine") -> Run:
    """Start a run that the test ends itself."""
    return await world.store.run(run_id, "agent", session_id=session_id).__aenter__()


async def end(run: Run) -> None:
    """Complete a run."""
    await run.__aexit__(None, None, None)
