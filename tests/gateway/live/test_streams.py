"""What viewers of a run and of a session see: every record once, in order, whatever happens to the topic."""

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

import httpx2
import pytest

from runlane.client.sse import ServerEvent
from runlane.contract.delta import Delta
from runlane.contract.errors import Unavailable
from runlane.contract.http_models import RecordBody
from runlane.contract.ids import session_lane
from runlane.contract.values import CommittedRecord
from runlane.gateway.live import LaneDelta
from runlane.gateway.live.response import EventStream
from tests.gateway.live.world import NOW, VIEWER, WORKER, World, begin, data, end, numbers

LANE = session_lane("mine")


async def test_a_viewer_of_a_run_sees_history_then_what_comes_then_the_end(world: World) -> None:
    await world.session()
    run = await begin(world)
    await run.append("note", {"n": 1})
    async with world.stream("/v1/runs/r/stream") as viewer:
        seen = await viewer.take(3)
        await run.append("note", {"n": "\u2028 two\nlines"})
        await end(run)
        world.publish()
        seen += await viewer.rest()

    assert [event.name for event in seen] == ["head", "record", "record", "record", "record", "end"]
    assert data(seen[0]) == {"head": 2, "status": "running"}
    assert numbers(seen) == [1, 2, 3, 4]
    assert _records(seen) == list((await world.store.list_run_records("r")).records)


async def test_a_viewer_of_a_session_sees_all_its_runs_by_lane_seq(world: World) -> None:
    await world.session()
    one, two = await begin(world, "a"), await begin(world, "b")
    async with world.stream("/v1/sessions/mine/stream") as viewer:
        seen = await viewer.take(3)
        await one.append("note", {})
        await two.append("note", {})
        await end(two)
        world.publish()
        seen += await viewer.take(3)

    assert data(seen[0]) == {"head": 3, "status": "active"}
    assert numbers(seen) == [2, 3, 4, 5, 6]
    assert [record.run_id for record in _records(seen)] == ["a", "b", "a", "b", "b"]


async def test_a_session_is_over_when_it_has_ended_and_nothing_runs(world: World) -> None:
    await world.session()
    run = await begin(world)
    async with world.stream("/v1/sessions/mine/stream") as viewer:
        await viewer.take(2)
        await world.store.end_session("mine", NOW)
        world.publish()
        await run.append("note", {})
        await end(run)
        world.publish()
        assert [event.name for event in await viewer.rest()] == ["record", "record", "end"]
    async with world.stream("/v1/sessions/mine/stream?after=3") as again:
        assert [event.name for event in await again.rest()] == ["head", "record", "record", "end"]


async def test_an_end_waits_for_records_that_the_topic_brings_later(world: World) -> None:
    await world.session()
    run = await begin(world)
    async with world.stream("/v1/sessions/mine/stream") as viewer:
        await viewer.take(2)
        await world.store.end_session("mine", NOW)
        ended = world.unpublished()
        await run.append("note", {})
        await end(run)
        # The session is over in the store before its last records are on the topic.
        world.topic.send(ended)
        assert [event.name for event in await viewer.rest()] == ["record", "record", "end"]


@pytest.mark.parametrize("path", ["/v1/runs/r/stream", "/v1/sessions/mine/stream"])
async def test_what_the_topic_repeats_is_told_once(world: World, path: str) -> None:
    await world.session()
    run = await begin(world)
    async with world.stream(path) as viewer:
        await viewer.take(2)
        for number in range(3):
            await run.append("note", {"n": number})
        records = world.unpublished()
        world.topic.send(records + records[1:] + records)
        await end(run)
        world.publish()
        seen = await viewer.take(4)

    first = numbers(seen)[0]
    assert numbers(seen) == [first, first + 1, first + 2, first + 3]


@pytest.mark.parametrize("path", ["/v1/runs/r/stream", "/v1/sessions/mine/stream"])
@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_what_the_topic_loses_comes_from_the_store(world: World, path: str, lost: int) -> None:
    await world.session()
    run = await begin(world)
    async with world.stream(path) as viewer:
        before = numbers(await viewer.take(2))[-1]
        world.unpublished()
        for number in range(4):
            await run.append("note", {"n": number})
        records = world.unpublished()
        world.topic.send(records[:lost] + records[lost + 1 :])
        seen = await viewer.take(4)

    assert numbers(seen) == [before + 1, before + 2, before + 3, before + 4]


async def test_a_topic_that_lost_its_place_sends_viewers_to_the_store(world: World) -> None:
    await world.session()
    run = await begin(world)
    async with world.stream("/v1/runs/r/stream") as viewer:
        await viewer.take(2)
        await run.append("note", {})
        assert world.topic.sink is not None
        world.topic.sink.lose()
        assert numbers(await viewer.take(1)) == [2]


@pytest.mark.parametrize(
    ("query", "header", "seen"),
    [
        ("", "", [1, 2, 3]),
        ("?after=0", "", [1, 2, 3]),
        ("?from=earliest", "", [1, 2, 3]),
        ("?after=2", "", [3]),
        ("?after=1", "2", [3]),
        ("?from=latest&after=1", "", [2, 3]),
        ("?from=latest", "", []),
        ("?after=3", "", []),
    ],
)
async def test_a_viewer_says_where_it_begins(world: World, query: str, header: str, seen: list[int]) -> None:
    await world.session()
    run = await begin(world)
    await run.append("note", {})
    await end(run)

    headers = {"Last-Event-ID": header} if header else {}
    async with world.stream(f"/v1/runs/r/stream{query}", headers=headers) as viewer:
        events = await viewer.rest()

    assert numbers(events) == seen
    assert (events[0].name, events[-1].name) == ("head", "end")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("after=x", "invalid_cursor"),
        ("after=-1", "invalid_cursor"),
        ("after=99", "cursor_ahead"),
        ("from=middle", "invalid_parameter"),
    ],
)
async def test_a_cursor_that_nothing_told_is_refused(world: World, query: str, code: str) -> None:
    await world.session()
    await begin(world)
    async with world.client() as http:
        answer = await http.get(f"/v1/runs/r/stream?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_a_purge_ends_every_stream_of_the_session(world: World) -> None:
    await world.session()
    run = await begin(world)
    streams = world.stream("/v1/sessions/mine/stream"), world.stream("/v1/runs/r/stream")
    async with streams[0] as session, streams[1] as one:
        await session.take(2)
        await one.take(2)
        await end(run)
        await world.store.end_session("mine", NOW)
        await world.store.purge_session("mine")
        # The purge alone reaches the topic: what came before it must not be shown any more.
        world.topic.send(world.unpublished())
        assert [event.name for event in await session.rest()] == ["purged"]
        assert [event.name for event in await one.rest()] == ["purged"]
    async with world.client() as http:
        assert (await http.get("/v1/sessions/mine/stream")).status_code == 410
        assert (await http.get("/v1/runs/r/stream")).status_code == 404


async def test_deltas_go_to_those_who_look_and_have_no_id(world: World) -> None:
    await world.session()
    await begin(world)
    await begin(world, "other")
    mine = LaneDelta(LANE, Delta("r", "call", "assistant", "hel\nlo"))
    async with world.stream("/v1/runs/r/stream") as run, world.stream("/v1/sessions/mine/stream") as session:
        await run.take(2)
        await session.take(3)
        world.topic.send([LaneDelta(LANE, Delta("other", "", "thinking", "hm")), mine])
        to_run, to_session = await run.take(1), await session.take(2)

    assert (to_run[0].name, to_run[0].id) == ("delta", None)
    assert data(to_run[0]) == {
        "run_id": "r",
        "tool_call_id": "call",
        "stream": "assistant",
        "text": "hel\nlo",
    }
    assert [data(event)["run_id"] for event in to_session] == ["other", "r"]


async def test_a_run_of_a_sessionless_tree_is_followed_in_its_root_lane(world: World) -> None:
    from runlane.client import ToolCall

    root = await world.store.run("root", "agent").__aenter__()
    child = await root.child("kid", "agent", call=ToolCall("search", "c1")).__aenter__()
    async with world.stream("/v1/runs/kid/stream") as viewer:
        await viewer.take(2)
        await child.append("note", {})
        await root.append("note", {})
        world.publish()
        await end(child)
        world.publish()
        assert numbers(await viewer.until("end")) == [2, 3]


@pytest.mark.parametrize("run_id", ["stream", "a/b", "..", "~x", "50%", "ü?#"])
async def test_any_run_id_has_a_stream(world: World, run_id: str) -> None:
    from runlane.contract.http_models import path_segment

    await end(await world.store.run(run_id, "agent").__aenter__())
    async with world.stream(f"/v1/runs/{path_segment(run_id)}/stream") as viewer:
        assert numbers(await viewer.rest()) == [1, 2]
    async with world.client() as http:
        assert (await http.get(f"/v1/runs/{path_segment(run_id)}")).json()["run_id"] == run_id


async def test_an_answer_is_a_stream_that_nothing_keeps_or_packs(world: World) -> None:
    await world.session()
    await begin(world)
    async with world.client() as http:
        headers = {"Accept-Encoding": "gzip"}
        async with http.stream("GET", "/v1/runs/r/stream", headers=headers) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert "no-store" in answer.headers["cache-control"]
            assert "content-encoding" not in answer.headers
            assert answer.headers["x-accel-buffering"] == "no"
            first = await anext(answer.aiter_bytes())
            assert first.startswith(b"retry: 1000\n\n")


async def test_a_silent_stream_is_kept_alive_by_comments(world: World) -> None:
    await world.session()
    await begin(world)
    async with world.client() as http, http.stream("GET", "/v1/runs/r/stream") as answer:
        pieces = answer.aiter_bytes()
        seen = b""
        while b"run_started" not in seen:
            seen += await anext(pieces)
        world.live._call(world.live._beat)
        assert await anext(pieces) == b": still here\n\n"


async def test_a_viewer_token_follows_its_sessions_only(world: World) -> None:
    await world.session()
    await world.session("other")
    await end(await begin(world, "r"))
    await end(await begin(world, "hidden", "other"))
    async with world.stream("/v1/runs/r/stream", VIEWER) as viewer:
        assert numbers(await viewer.rest()) == [1, 2]
    await world.quiet(lambda: not world.live.hub._lanes)
    async with world.client(VIEWER) as http:
        for path in ("sessions/other", "sessions/missing", "runs/hidden", "runs/missing"):
            answer = await http.get(f"/v1/{path}/stream")
            assert answer.status_code == 404
        assert world.live.hub._lanes == {}


async def test_a_viewer_that_leaves_is_forgotten(world: World) -> None:
    await world.session()
    await begin(world)
    async with world.stream("/v1/runs/r/stream") as viewer:
        await viewer.take(2)
        assert LANE in world.live.hub._lanes
    await world.quiet(lambda: not world.live.hub._lanes and not world.live._open)
    assert not world.live.wants(LANE)


async def test_a_gateway_that_stops_lets_viewers_go_at_once(world: World) -> None:
    await world.session()
    await begin(world)
    async with world.stream("/v1/runs/r/stream") as viewer, world.stream("/v1/runs/stream") as runs:
        await viewer.take(2)
        await runs.until("sync")
        world.live.stop()
        assert await viewer.rest() == []
        await runs.rest()
    async with world.client() as http:
        answer = await http.get("/v1/runs/r/stream")
    assert (answer.status_code, answer.json()["code"]) == (503, "stopping")


async def test_a_store_that_fails_breaks_the_stream_off_and_the_cursor_resumes_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.session()
    run = await begin(world)
    async with world.stream("/v1/runs/r/stream") as viewer:
        await viewer.take(2)
        for number in range(2):
            await run.append("note", {"n": number})
        whole = world.store.list_run_records

        async def fails(*_: object) -> None:
            raise Unavailable("away")

        monkeypatch.setattr(world.store, "list_run_records", fails)
        world.topic.send(world.unpublished()[-1:])
        assert await viewer.rest() == []
    monkeypatch.setattr(world.store, "list_run_records", whole)
    async with world.stream("/v1/runs/r/stream", headers={"Last-Event-ID": "1"}) as again:
        assert numbers(await again.take(3)) == [2, 3]


async def test_many_viewers_coming_and_going_each_see_the_store(world: World) -> None:
    await world.session()
    run = await begin(world)

    async def come_and_go(number: int) -> list[int]:
        seen: list[int] = []
        while True:
            after = seen[-1] if seen else 0
            async with world.stream(f"/v1/runs/r/stream?after={after}") as viewer:
                async for event in viewer:
                    seen += numbers([event])
                    if event.name == "end":
                        return seen
                    if event.name == "record" and (len(seen) * 7 + number) % 5 == 0:
                        break

    viewers = [asyncio.create_task(come_and_go(number)) for number in range(5)]
    for number in range(20):
        await run.append("note", {"n": number})
        records = world.unpublished()
        # Every third record is lost, every other one repeated.
        world.topic.send(records * (0 if number % 3 == 0 else 2))
        await asyncio.sleep(0.005)
    await end(run)
    world.publish()

    assert [await viewer for viewer in viewers] == [list(range(1, 23))] * 5


def _records(events: list[ServerEvent]) -> list[CommittedRecord]:
    return [RecordBody.model_validate_json(one.data).value() for one in events if one.name == "record"]


async def test_without_a_broker_a_stream_is_refused_for_now(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runlane.gateway.live import following as module

    monkeypatch.setattr(module, "_START_SECONDS", 0.01)
    world.topic.ready = False
    await world.session()
    await begin(world)
    async with world.client() as http:
        answer: httpx2.Response = await http.get("/v1/runs/r/stream")
    assert (answer.status_code, answer.json()["code"]) == (503, "broker_unavailable")


async def test_a_viewer_that_never_reads_is_let_go_and_delays_nobody(world: World) -> None:
    await world.session()
    run = await begin(world)
    reader, writer = await asyncio.open_connection(*_address(world), limit=1024)
    head = f"Host: x\r\nAuthorization: Bearer {WORKER}\r\n\r\n"
    writer.write(f"GET /v1/runs/r/stream HTTP/1.1\r\n{head}".encode())
    await reader.readuntil(b"run_started")
    async with world.stream("/v1/runs/r/stream") as other:
        seen = await other.take(2)
        stuck, fast = world.live.hub._lanes[LANE].taps
        # More than the queue of a viewer and the buffers of its connection hold together.
        after = 3
        while after and len(seen) < 80:
            after -= stuck.ended
            await run.append("note", {"text": "x" * 300_000})
            world.publish()
            seen += await other.take(1)
        assert numbers(seen) == list(range(1, len(seen)))
        assert (stuck.ended, fast.ended) == (True, False)
        rest = await reader.read(-1)
    writer.close()
    assert b"event: lagged" in rest[-100:]


async def test_a_peer_that_takes_nothing_for_too_long_is_given_up() -> None:
    closed: list[bool] = []

    async def events() -> AsyncGenerator[bytes]:
        yield b"data: 1\n\n"

    async def never(*_: object) -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    async def stuck(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await never()

    stream = EventStream(events(), lambda: closed.append(True), send_seconds=0.01)
    await stream({"type": "http"}, never, stuck)

    assert closed == [True]


def _address(world: World) -> tuple[str, int]:
    host, _, port = world.url.removeprefix("http://").rpartition(":")
    return host, int(port)
