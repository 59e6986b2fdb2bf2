"""Following from Python: every record once, in order, through every break; and deltas on their way out."""

import contextlib
from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest

from runlane.client import (
    Api,
    ClientOptions,
    Followed,
    HttpFollower,
    MemoryStore,
    PagedFollower,
    RunStore,
    SyncRunStore,
    ToolCall,
)
from runlane.client.sse import EventParser, ServerEvent
from runlane.contract.delta import MAX_DELTA_BYTES, Delta, decode_delta, encode_delta
from runlane.contract.errors import InvalidCommand, RunNotFound, SessionPurged, Unavailable
from runlane.contract.values import CommittedRecord
from tests.client.scripted import ScriptedTransport
from tests.gateway.live.world import NOW, WORKER, World, begin, end, serve

FAST = ClientOptions(timeout=60.0, retry_wait=0.001, max_retry_wait=0.01)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with serve(World()) as served:
        yield served


class Breaking(httpx2.AsyncBaseTransport):
    """Breaks each answer off after so many pieces; after the last number it holds."""

    def __init__(self, *pieces: int) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._pieces = list(pieces)
        self.requests: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(str(request.url.query, "ascii"))
        response = await self._inner.handle_async_request(request)
        left = self._pieces.pop(0) if self._pieces else -1

        async def cut() -> AsyncIterator[bytes]:
            count = 0
            async for piece in response.stream:  # type: ignore[union-attr]
                if count == left:
                    raise httpx2.ReadError("cut")
                yield piece
                count += 1

        return httpx2.Response(response.status_code, headers=response.headers, content=cut())

    async def aclose(self) -> None:
        await self._inner.aclose()


def follower(world: World, transport: httpx2.AsyncBaseTransport | None = None) -> HttpFollower:
    return HttpFollower(lambda: Api(world.url, WORKER), world.store, options=FAST, transport=transport)


async def seqs(records: AsyncIterator[CommittedRecord]) -> list[int]:
    return [record.seq async for record in records]


async def test_a_run_is_followed_to_its_end(world: World) -> None:
    await world.session()
    run = await begin(world)
    seen: list[CommittedRecord] = []
    async for record in follower(world).follow(Followed(run_id="r")):
        seen.append(record)
        if record.seq <= 3:
            await run.append("note", {"n": record.seq})
        elif record.seq == 4:
            await end(run)
        world.publish()

    assert seen == list((await world.store.list_run_records("r")).records)


async def test_a_break_costs_nothing_and_doubles_nothing(world: World) -> None:
    await world.session()
    run = await begin(world)
    for number in range(5):
        await run.append("note", {"n": number})
    breaking = Breaking(0, 1, 2, 0, 2)
    seen: list[int] = []
    async for record in follower(world, breaking).follow(Followed(run_id="r"), "2"):
        seen.append(record.seq)
        if record.seq == 6:
            await end(run)
            world.publish()

    assert seen == [3, 4, 5, 6, 7]
    assert breaking.requests[0] == "after=2"
    assert len(breaking.requests) >= 5


async def test_a_session_is_followed_with_all_its_runs(world: World) -> None:
    await world.session()
    await end(await begin(world, "a"))
    await end(await begin(world, "b"))
    await world.store.end_session("mine", NOW)

    records = follower(world).follow(Followed(session_id="mine"), "3")

    assert [(record.run_id, record.lane_seq) async for record in records] == [("b", 4), ("b", 5)]


async def test_a_purge_and_an_unknown_run_are_told_as_errors(world: World) -> None:
    await world.session()
    run = await begin(world)
    with pytest.raises(RunNotFound):
        await seqs(follower(world).follow(Followed(run_id="none")))
    records = follower(world).follow(Followed(run_id="r"))
    await anext(records)
    await end(run)
    await world.store.end_session("mine", NOW)
    await world.store.purge_session("mine")
    world.topic.send(world.unpublished())
    with pytest.raises(SessionPurged):
        await anext(records)


async def test_a_gateway_that_stays_away_is_told_in_the_end() -> None:
    options = ClientOptions(timeout=0.05, retry_wait=0.001)
    away = HttpFollower(lambda: Api("http://127.0.0.1:9"), MemoryStore(), options=options)

    with pytest.raises(Unavailable):
        await seqs(away.follow(Followed(run_id="r")))


async def test_a_gateway_without_streams_is_asked_page_by_page() -> None:
    store = MemoryStore()
    await end(await store.run("r", "agent").__aenter__())

    def answer(_: httpx2.Request) -> httpx2.Response:
        problem = {
            "type": "t",
            "title": "InvalidCommand",
            "status": 404,
            "detail": "",
            "code": "unknown_path",
            "name": "InvalidCommand",
            "retryable": False,
            "details": {},
        }
        return httpx2.Response(404, json=problem)

    plain = HttpFollower(lambda: Api("http://gateway"), store, transport=httpx2.MockTransport(answer))

    assert await seqs(plain.follow(Followed(run_id="r"))) == [1, 2]


async def test_any_store_follows_by_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runlane.client.follow._PAGE", 2)
    store = MemoryStore()
    run = await store.run("r", "agent").__aenter__()
    todo = [1, 2, 3]

    async def work(_seconds: float) -> None:
        if todo:
            await run.append("note", {"n": todo.pop()})
        else:
            await end(run)

    assert await seqs(PagedFollower(store, pause=work).follow(Followed(run_id="r"))) == [1, 2, 3, 4, 5]
    assert await seqs(PagedFollower(store).stored(Followed(run_id="r"), "3")) == [4, 5]


async def test_a_store_follows_one_run_or_one_session() -> None:
    store = MemoryStore()
    await end(await store.run("r", "agent").__aenter__())

    assert await seqs(store.follow(run="r", after="1")) == [2]
    for wrong in ({}, {"run": "r", "session": "s"}):
        with pytest.raises(InvalidCommand):
            store.follow(**wrong)
    with pytest.raises(InvalidCommand):
        await seqs(store.follow(run="r", after="x"))


def test_the_sync_store_follows_too() -> None:
    with SyncRunStore(MemoryStore()) as store:
        with store.run("r", "agent") as run:
            run.append("note", {})
            run.delta("", "assistant", "hm")
            records = store.follow(run="r")
            assert [next(records).seq, next(records).seq] == [1, 2]
        assert [record.seq for record in records] == [3]


class Wire(ScriptedTransport):
    @property
    def told(self) -> list[tuple[str, Delta]]:
        return [(lane, decode_delta(body)) for lane, body in self.deltas]


async def test_a_delta_goes_to_the_lane_of_its_run() -> None:
    wire = Wire()
    async with RunStore(wire, MemoryStore()) as store:
        await store.create_session("s", NOW)
        in_session = await store.run("a", "agent", session_id="s").__aenter__()
        root = await store.run("root", "agent").__aenter__()
        child = await root.child("kid", "agent", call=ToolCall("t", "c")).__aenter__()
        for run in (in_session, root, child):
            run.delta("c1", "stdout", "line\n")

    assert wire.told == [
        ("s/s", Delta("a", "c1", "stdout", "line\n")),
        ("r/root", Delta("root", "c1", "stdout", "line\n")),
        ("r/root", Delta("kid", "c1", "stdout", "line\n")),
    ]


@pytest.mark.parametrize(
    "delta",
    [
        Delta("", "", "s", "x"),
        Delta("r", "", "", "x"),
        Delta("r", "c\n", "s", "x"),
        Delta("r", "", "s", "\ud800"),
        Delta("r", "", "s", "x" * (MAX_DELTA_BYTES + 1)),
    ],
)
def test_a_delta_that_is_none_is_refused(delta: Delta) -> None:
    with pytest.raises(InvalidCommand):
        encode_delta(delta)


@pytest.mark.parametrize("text", ["", "\u2028\x00<b>&", "é" * (MAX_DELTA_BYTES // 2)])
def test_a_delta_comes_back_as_it_was(text: str) -> None:
    delta = Delta("r", "", "assistant", text)

    assert decode_delta(encode_delta(delta)) == delta


@pytest.mark.parametrize(
    "data", [None, b"", b"{", b"[]", b'{"run_id":1}', b'{"run_id":"r","stream":"s"}', b"\xff"]
)
def test_a_message_that_is_no_delta_is_refused(data: bytes | None) -> None:
    with pytest.raises(InvalidCommand):
        decode_delta(data)


STREAM = (
    b': hi\nretry: 1\n\nid: 7\nevent: record\ndata: {"a":\ndata: 1}\n\n'
    b"data: x\r\n\r\nevent: end\n\nid: 8\ndata: cut"
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_read_however_they_are_cut(size: int) -> None:
    parser = EventParser()
    pieces: Sequence[bytes] = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]

    events = [event for piece in pieces for event in parser.feed(piece)]

    assert events == [ServerEvent("record", '{"a":\n1}', "7"), ServerEvent("message", "x")]


async def test_a_follower_that_is_left_lets_its_connection_go(world: World) -> None:
    await world.session()
    await begin(world)
    async with contextlib.aclosing(follower(world).follow(Followed(run_id="r"))) as records:
        assert (await anext(records)).seq == 1
        assert world.live.hub._lanes
    await world.quiet(lambda: not world.live.hub._lanes and not world.live._open)
