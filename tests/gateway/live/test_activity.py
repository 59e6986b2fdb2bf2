"""What each agent did: windows of the last hour, and a stream of those that change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from runlane.contract.activity import ActivityShare
from runlane.contract.reader import SessionScope
from runlane.gateway import Access, Role, Token
from runlane.gateway.live import activity as module
from runlane.gateway.live import following, windows
from tests.gateway.live.world import HOST, NOW, TOKENS, VIEWER, WORKER, World, data, serve

EVERYTHING = "sees-all-token-0123456789"
MINUTE = timedelta(minutes=1)
LATENCY = ((7, 1), (127, 18), (1023, 1))


def share(agent: str = "helper", partition: int = 0, minutes: int = 0, **counts: Any) -> ActivityShare:
    counts.setdefault("revision", 1)
    return ActivityShare(agent, partition, NOW - minutes * MINUTE, **counts)


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.05)
    everything = Token(EVERYTHING, Role.VIEWER, SessionScope(prefixes=("",)))
    async with serve(World(Access((*TOKENS, everything)))) as served:
        yield served


async def ask(world: World, query: str = "", token: str = WORKER) -> list[dict[str, Any]]:
    async with world.client(token) as http:
        answer = await http.get(f"/v1/activity{query}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["window_seconds"] == 60
        return list(answer.json()["windows"])


async def test_a_window_adds_up_the_shares_of_all_partitions(world: World) -> None:
    world.shares.kept = [
        share(starts=2, completions=1, running=1, tokens=10, tool_calls=20, tool_latency_ms=LATENCY),
        share(partition=1, starts=1, failures=1, tokens=5, tool_calls=1, tool_failures=1),
    ]
    (window,) = await ask(world)

    assert window == {
        "agent_id": "helper",
        "window_start": "2026-03-01T12:00:00Z",
        "starts": 3,
        "completions": 1,
        "failures": 1,
        "cancellations": 0,
        "suspensions": 0,
        "running": 1,
        "tokens": 15,
        "tool_calls": 21,
        "tool_failures": 1,
        "tool_latency_ms_p50": 127,
        "tool_latency_ms_p95": 127,
        "tool_latency_ms_max": 1023,
    }


async def test_a_redelivered_share_changes_nothing_and_a_later_one_replaces_it(world: World) -> None:
    first, second = share(starts=1), share(revision=3, starts=2)
    world.shares.kept = [first, second, first, second]
    (window,) = await ask(world)
    assert window["starts"] == 2


async def test_a_partition_without_news_goes_on_running_what_it_ran(world: World) -> None:
    world.shares.kept = [share(minutes=2, running=2), share(partition=1, running=1, starts=1)]
    before, now = await ask(world)
    assert (before["running"], now["running"]) == (2, 3)


async def test_windows_are_of_the_last_hour_or_of_less_and_of_one_agent(world: World) -> None:
    world.shares.kept = [share(minutes=minutes) for minutes in (61, 59, 2, 0)] + [share("other")]

    assert [one["window_start"][11:16] for one in await ask(world, "?agent=helper")] == [
        "11:01",
        "11:58",
        "12:00",
    ]
    assert [one["agent_id"] for one in await ask(world, "?minutes=1")] == ["helper", "other"]
    async with world.client() as http:
        assert (await http.get("/v1/activity?minutes=61")).status_code == 400


async def test_the_agents_that_moved_last_are_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MAX_AGENTS", 2)
    world.shares.kept = [share("a"), share("b"), share("c"), share("b", minutes=1)]
    assert {one["agent_id"] for one in await ask(world)} == {"b", "c"}


async def test_a_stream_tells_the_last_hour_and_then_what_changes(world: World) -> None:
    world.shares.kept = [share(minutes=1, starts=1), share("other", starts=2)]
    async with world.stream("/v1/activity/stream") as viewer:
        first = await viewer.until("sync")
        for revision in range(2, 30):
            world.shares.send(share("other", revision=revision, starts=revision))
        told = [data(await viewer.next())]
        while told[-1]["starts"] < 29:
            told.append(data(await viewer.next()))

    assert [event.name for event in first] == ["window", "window", "sync"]
    assert [data(event)["agent_id"] for event in first[:2]] == ["helper", "other"]
    assert {one["agent_id"] for one in told} == {"other"}
    assert len(told) < 28


@pytest.mark.parametrize("token", [WORKER, HOST, EVERYTHING])
async def test_who_sees_every_session_sees_activity(world: World, token: str) -> None:
    assert await ask(world, token=token) == []
    async with world.stream("/v1/activity/stream", token) as viewer:
        assert [event.name for event in await viewer.until("sync")] == ["sync"]


@pytest.mark.parametrize("path", ["/v1/activity", "/v1/activity/stream"])
async def test_to_other_viewers_there_is_no_such_thing(world: World, path: str) -> None:
    async with world.client(VIEWER) as http:
        answer = await http.get(path)
        missing = await http.get("/v1/no-such-thing")
    assert (answer.status_code, answer.json()["code"]) == (404, missing.json()["code"])


async def test_a_broker_that_is_away_is_said_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_START_SECONDS", 0.05)
    world.shares.ready = False
    async with world.client() as http:
        answer = await http.get("/v1/activity")
    assert (answer.status_code, answer.json()["code"]) == (503, "broker_unavailable")


async def test_a_gateway_that_stops_ends_the_streams(world: World) -> None:
    async with world.stream("/v1/activity/stream") as viewer:
        await viewer.until("sync")
        world.activity.stop()
        assert await viewer.next() is None
