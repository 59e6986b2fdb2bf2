"""The run helper: start, append, and an end whatever happens."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from runlane.client import MemoryStore, ToolCall
from runlane.contract.errors import (
    EventConflict,
    InvalidCommand,
    RunConflict,
    RunNotActive,
    RunTerminalConflict,
    Unavailable,
)
from runlane.contract.payloads import decode_run_completed
from runlane.contract.values import RunRecord, RunStatus

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@pytest.fixture
async def store(run_store: MemoryStore) -> MemoryStore:
    await run_store.create_session("session", NOW)
    return run_store


async def types(store: MemoryStore, run: str = "run") -> list[str]:
    return [record.type for record in (await store.list_run_records(run)).records]


async def completion(store: MemoryStore, run: str = "run") -> Any:
    page = await store.list_run_records(run)
    return decode_run_completed(page.records[-1].payload)


async def test_a_run_that_leaves_quietly_is_completed(store: MemoryStore) -> None:
    async with store.run("run", "agent", session_id="session", labels={"team": "red"}) as run:
        result = await run.append("planner_note", {"Note": "hm"}, turn_id="turn")
    assert (result.id, result.inserted) == ("2", True)
    meta = await store.load_run("run")
    assert (meta.status, meta.labels, meta.agent_id) == (RunStatus.COMPLETED, {"team": "red"}, "agent")
    records = (await store.list_run_records("run")).records
    assert [(r.event_key, r.type, r.turn_id) for r in records] == [
        ("run_started", "run_started", ""),
        ("planner_note/1", "planner_note", "turn"),
        ("run_completed", "run_completed", ""),
    ]
    assert (await completion(store)).labels == {"team": "red"}


async def test_a_run_without_a_session_is_a_one_shot_run(store: MemoryStore) -> None:
    async with store.run("run", "agent") as run:
        await run.append("note", b"[1]")
    assert (await store.load_run("run")).session_id == ""
    assert await types(store) == ["run_started", "note", "run_completed"]


async def test_an_exception_fails_the_run_and_leaves_as_it_came(store: MemoryStore) -> None:
    with pytest.raises(ValueError, match="no such tool") as raised:
        async with store.run("run", "agent", session_id="session"):
            raise ValueError("no such tool")
    assert not hasattr(raised.value, "__notes__")
    failure = (await completion(store)).failure
    assert (failure.message, failure.kind, failure.retryable) == ("no such tool", "internal", True)


async def test_a_time_out_is_a_failure_of_that_kind(store: MemoryStore) -> None:
    with pytest.raises(TimeoutError):
        async with store.run("run", "agent", session_id="session"):
            raise TimeoutError
    failure = (await completion(store)).failure
    assert (failure.message, failure.kind) == ("TimeoutError", "timeout")


async def test_a_cancelled_task_cancels_the_run(store: MemoryStore) -> None:
    entered = asyncio.Event()

    async def work() -> None:
        async with store.run("run", "agent", session_id="session"):
            entered.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await store.load_run("run")).status is RunStatus.CANCELED
    assert (await completion(store)).cancellation.reason == "engine_canceled"


async def test_a_cancelled_run_ends_with_the_recorded_reason(store: MemoryStore) -> None:
    async def work() -> None:
        async with store.run("run", "agent", session_id="session") as run:
            await run.cancel("user_requested")
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await work()
    assert (await completion(store)).cancellation.reason == "user_requested"
    assert await types(store) == ["run_started", "runtime.cancellation_intent", "run_completed"]


async def test_a_suspended_run_stays_suspended(store: MemoryStore) -> None:
    async with store.run("run", "agent", session_id="session") as run:
        await run.post("note", "{}")
        await run.suspend("checkpoint", b"\x00\xff", version="v1", pending_count=1, required_tools=["t"])
    assert (await store.load_run("run")).status is RunStatus.SUSPENDED
    assert (await store.load_run_suspension("run")).data == b"\x00\xff"
    assert await types(store) == ["run_started", "note", "run_suspended"]


async def test_a_continuation_names_its_predecessor(store: MemoryStore) -> None:
    async with store.run("run", "agent", session_id="session") as run:
        await run.suspend("checkpoint", b"data")
    async with store.run("next", "agent", session_id="session", predecessor_run_id="run"):
        pass
    started = (await store.list_run_records("next")).records[0]
    assert started.payload == b'{"predecessor_run_id":"run"}'


async def test_an_ended_session_starts_no_work(store: MemoryStore) -> None:
    await store.end_session("session", NOW)
    worked = False
    with pytest.raises(RunNotActive, match="stopped at its start"):
        async with store.run("run", "agent", session_id="session"):
            worked = True
    assert not worked
    assert await types(store) == ["run_started", "run_completed"]
    assert (await store.load_run("run")).cancellation_reason == "session_ended"


@pytest.mark.parametrize("session", ["session", ""])
async def test_a_child_run_is_linked_on_its_parent(store: MemoryStore, session: str) -> None:
    async with store.run("run", "agent", session_id=session) as run:
        await run.append("note", "{}")
        async with run.child("child", "helper", call=ToolCall("svc.ask", "call-1")) as child:
            await child.append("note", "{}")
    assert await types(store) == ["run_started", "note", "child_run_linked", "run_completed"]
    assert await types(store, "child") == ["run_started", "note", "run_completed"]
    link = (await store.list_run_records("run")).records[2]
    assert link.payload == (
        b'{"ToolName":"svc.ask","ToolCallID":"call-1","ChildRunID":"child","ChildAgentID":"helper"}'
    )
    assert (await store.load_run("child")).parent_run_id == "run"


async def test_the_same_code_with_the_same_times_is_an_exact_retry(store: MemoryStore) -> None:
    for _ in range(2):
        run = store.run("run", "agent", session_id="session", started_at=NOW)
        async with run:
            await run.append("note", {"n": 1}, timestamp=NOW)
            await run.suspend("checkpoint", b"data")
            break
    again = store.run("run", "agent", session_id="session", started_at=NOW)
    await again.__aenter__()
    result = await again.append("note", {"n": 1}, timestamp=NOW)
    assert (result.id, result.inserted) == ("2", False)


async def test_a_second_run_of_the_same_id_is_a_conflict(store: MemoryStore) -> None:
    async with store.run("run", "agent", session_id="session", started_at=NOW):
        with pytest.raises(RunConflict):
            async with store.run("run", "agent", session_id="session"):
                pass


async def test_a_run_that_another_ended_differently_says_so_at_its_end(store: MemoryStore) -> None:
    with pytest.raises(RunTerminalConflict):
        async with store.run("run", "agent", session_id="session"):
            await _end_from_outside(store)


async def test_an_exception_is_not_hidden_by_a_run_that_another_ended(store: MemoryStore) -> None:
    async def work() -> None:
        async with store.run("run", "agent", session_id="session") as run:
            await _end_from_outside(store)
            await run.append("note", "{}")

    with pytest.raises(RunNotActive):
        await work()


async def test_what_goes_wrong_at_the_end_becomes_a_note_of_the_exception(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object, **__: object) -> None:
        raise Unavailable("no broker")

    async def work() -> None:
        async with store.run("run", "agent", session_id="session"):
            monkeypatch.setattr(store, "ensure_run_terminal", unavailable)
            raise KeyError("k")

    with pytest.raises(KeyError) as raised:
        await work()
    assert raised.value.__notes__ == ["run 'run' could not be ended: unavailable: no broker"]


async def test_a_payload_that_json_cannot_hold_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidCommand) as refused:
        async with store.run("run", "agent", session_id="session") as run:
            await run.append("note", {"when": NOW})
    assert refused.value.code == "not_encodable"


async def test_a_key_of_the_caller_s_own_is_kept(store: MemoryStore) -> None:
    async with store.run("run", "agent", session_id="session") as run:
        await run.append("note", "1", event_key="mine", timestamp=NOW)
        with pytest.raises(EventConflict):
            await run.append("note", "2", event_key="mine", timestamp=NOW)


async def _end_from_outside(store: MemoryStore) -> None:
    payload = b'{"status":"failed","phase":"failed","failure":{"message":"m","kind":"k","retryable":false}}'
    record = RunRecord("outside", "run", "agent", "session", "", "run_completed", payload, NOW)
    await store.record_run_terminal("run", RunStatus.FAILED, record=record)
