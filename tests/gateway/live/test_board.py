"""The runs list: a snapshot, then each run that changed, with its counts and what it did last."""

from collections.abc import AsyncGenerator, Mapping, Sequence

import pytest

from runlane.client import ToolCall
from runlane.contract.reader import Reader
from runlane.contract.values import RunMeta
from runlane.gateway.live import board as module
from runlane.gateway.live.summary import activity_of
from runlane.store.live import RunFacts
from tests.gateway.live.world import NOW, VIEWER, World, begin, data, end
from tests.gateway.memory_reader import a_record


async def test_first_the_newest_runs_then_those_that_change(world: World) -> None:
    await world.session()
    run = await begin(world)
    await run.append("usage", {"TotalTokens": 7})
    await run.append("assistant_message", {"Message": "first\n  words"})
    async with world.stream("/v1/runs/stream") as viewer:
        first = await viewer.until("sync")
        await run.append("usage", {"InputTokens": 2, "OutputTokens": 3})
        await run.append("tool_call_scheduled", {"ToolName": "search"})
        world.publish()
        changed = data(await viewer.next())
        await end(run)
        world.publish()
        ended = data(await viewer.next())

    assert [event.name for event in first] == ["head", "run", "sync"]
    snapshot = data(first[1])
    assert (snapshot["run_id"], snapshot["status"], snapshot["labels"]) == ("r", "running", {})
    assert (snapshot["tokens"], snapshot["records"]) == (7, 3)
    assert snapshot["last_activity"]["text"] == "first words"
    assert (changed["tokens"], changed["records"]) == (12, 5)
    assert (changed["last_activity"]["type"], changed["last_activity"]["text"]) == (
        "tool_call_scheduled",
        "search",
    )
    assert (ended["status"], ended["records"]) == ("completed", 6)


@pytest.mark.parametrize("status", ["completed", "suspended"])
async def test_a_run_that_ended_well_is_told_by_what_it_did_before(world: World, status: str) -> None:
    await world.session()
    run = await begin(world)
    await run.append("await_confirmation", {"Title": "Send it?"})
    world.publish()
    async with world.stream("/v1/runs/stream") as early:
        await early.until("sync")
        if status == "suspended":
            await run.suspend("s", b"{}")
        await end(run)
        world.publish()
        changed = data(await early.next())
    async with world.stream("/v1/runs/stream") as late:
        told = data((await late.until("run"))[-1])

    assert told == changed
    assert (told["status"], told["last_activity"]["text"]) == (status, "confirmation: Send it?")


async def test_a_run_that_starts_is_told_whole(world: World) -> None:
    await world.session()
    async with world.stream("/v1/runs/stream") as viewer:
        await viewer.until("sync")
        parent = await begin(world)
        child = parent.child("kid", "helper", call=ToolCall("ask", "c1"), labels={"team": "blue"})
        await child.__aenter__()
        world.publish()
        told = {run["run_id"]: run for run in [data(await viewer.next()), data(await viewer.next())]}

    stored = await world.store.load_run("kid")
    assert told["kid"]["parent_run_id"] == "r"
    assert told["kid"]["labels"] == {"team": "blue"}
    assert told["kid"]["started_at"] == stored.started_at.isoformat()
    assert told["kid"]["updated_at"] == stored.updated_at.isoformat()
    assert told["r"]["last_activity"]["text"] == "ask: helper"


async def test_a_run_known_with_a_hole_is_read_anew(world: World) -> None:
    await world.session()
    run = await begin(world)
    async with world.stream("/v1/runs/stream") as viewer:
        await viewer.until("sync")
        await run.append("note", {})
        await run.append("note", {})
        # The first of the two never reaches the topic.
        world.topic.send(world.unpublished()[-1:])
        assert data(await viewer.next())["records"] == 3


async def test_an_unknown_run_that_changes_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SNAPSHOT", 1)
    await world.session()
    old = await begin(world, "a")
    await begin(world, "b")
    world.unpublished()
    async with world.stream("/v1/runs/stream") as viewer:
        known = data((await viewer.until("sync"))[1])["run_id"]
        other = old if known == "b" else await begin(world, "c")
        await other.append("note", {})
        world.publish()
        told = data(await viewer.next())

    assert told["run_id"] != known
    assert told["records"] == 2


async def test_a_run_that_the_search_has_late_comes_with_a_second_look(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = module.Board._snapshot

    async def late(
        board: module.Board, reader: Reader, *, only_unknown: bool = False
    ) -> AsyncGenerator[bytes]:
        if only_unknown:
            async for piece in snapshot(board, reader, only_unknown=True):
                yield piece

    monkeypatch.setattr(module, "_LAG_SECONDS", 0.0)
    monkeypatch.setattr(module.Board, "_snapshot", late)
    await world.session()
    await begin(world)
    world.unpublished()
    async with world.stream("/v1/runs/stream") as viewer:
        assert [event.name for event in await viewer.until("sync")] == ["head", "sync"]
        assert data(await viewer.next())["run_id"] == "r"


async def test_a_viewer_token_sees_its_runs_only(world: World) -> None:
    await world.session()
    await world.session("other")
    mine, other = await begin(world, "r"), await begin(world, "hidden", "other")
    await world.store.run("alone", "agent").__aenter__()
    async with world.stream("/v1/runs/stream", VIEWER) as viewer:
        snapshot = await viewer.until("sync")
        await other.append("note", {})
        world.publish()
        await mine.append("note", {})
        world.publish()
        changed = data(await viewer.next())

    assert [data(event)["run_id"] for event in snapshot if event.name == "run"] == ["r"]
    assert changed["run_id"] == "r"


async def test_the_board_is_empty_while_nobody_looks(world: World) -> None:
    await world.session()
    await begin(world)
    async with world.stream("/v1/runs/stream") as viewer:
        await viewer.until("sync")
        assert world.live.board._runs
    await world.quiet(lambda: not world.live.board._runs)
    assert not world.live.wants("s/anything")


@pytest.mark.parametrize(
    ("kind", "payload", "text"),
    [
        ("assistant_message", b'{"Message":"hello"}', "hello"),
        (
            "run_completed",
            b'{"status":"failed","failure":{"kind":"timeout","message":"slow"}}',
            "timeout: slow",
        ),
        ("run_completed", b'{"status":"canceled","cancellation":{"reason":"user"}}', "user"),
        ("tool_result_received", b'{"tool_name":"t","failure":{"error":{"message":"no"}}}', "t: no"),
        ("tool_result_received", b'{"tool_name":"t","result_preview":"3 rows"}', "t: 3 rows"),
        ("await_confirmation", b'{"Title":"Pay?"}', "confirmation: Pay?"),
        ("own_type", b'{"anything":1}', ""),
        ("planner_note", b"[1]", ""),
        ("planner_note", b'{"Note":7}', ""),
        (
            "transcript_messages_appended",
            b'[{"role":"user","parts":[{"text":"a"}]},{"role":"assistant","parts":[{"text":"b"},{"x":1}]}]',
            "b",
        ),
    ],
)
def test_a_record_in_words(kind: str, payload: bytes, text: str) -> None:
    activity = activity_of(a_record("r", "s", 1, payload)._replace(type=kind))

    assert activity is not None
    assert (activity.type, activity.text) == (kind, text)


def test_a_dull_record_says_nothing_and_words_are_cut() -> None:
    record = a_record("r", "s", 1, b'{"Message":"' + b"x" * 5000 + b'"}')
    long = activity_of(record._replace(type="assistant_message"))

    assert activity_of(record._replace(type="usage")) is None
    assert long is not None
    assert len(long.text) == 200


async def test_a_purge_is_told_to_those_who_may_know_the_session(world: World) -> None:
    for session_id in ("other", "mine"):
        await world.session(session_id)
        await end(await begin(world, f"run of {session_id}", session_id))
        world.publish()
    async with world.stream("/v1/runs/stream") as worker, world.stream("/v1/runs/stream", VIEWER) as viewer:
        await worker.until("sync")
        await viewer.until("sync")
        for session_id in ("other", "mine"):
            await world.store.end_session(session_id, NOW)
            await world.store.purge_session(session_id)
            world.publish()
        told = [data((await worker.until("gone"))[-1]) for _ in range(2)]
        first = data((await viewer.until("gone"))[-1])

    assert told == [{"session_id": "other"}, {"session_id": "mine"}]
    assert first == {"session_id": "mine"}


async def test_a_run_that_was_read_before_its_purge_is_not_told_after_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.session()
    await end(await begin(world))
    world.publish()
    board = world.live.board
    read = board._history.facts

    async def slowly(runs: Sequence[RunMeta], dull: Sequence[str]) -> Mapping[str, RunFacts]:
        facts = await read(runs, dull)
        await world.store.end_session("mine", NOW)
        await world.store.purge_session("mine")
        world.publish()
        await world.quiet(lambda: "mine" in board._gone)
        return facts

    monkeypatch.setattr(board._history, "facts", slowly)
    async with world.stream("/v1/runs/stream") as viewer:
        told = [event.name for event in await viewer.until("gone")]

    assert told == ["head", "sync", "gone"]


async def test_a_purge_that_the_topic_lost_is_told_all_the_same(world: World) -> None:
    await world.session()
    await end(await begin(world))
    world.publish()
    async with world.stream("/v1/runs/stream") as viewer:
        await viewer.until("sync")
        await world.store.end_session("mine", NOW)
        await world.store.purge_session("mine")
        world.unpublished()
        assert world.topic.sink is not None
        world.topic.sink.lose()
        told = data((await viewer.until("gone"))[-1])

    assert told == {"session_id": "mine"}
