"""Prepared messages of one planner attempt (contract 7; cases C352, C353)."""

from __future__ import annotations

import asyncio

import pytest

from runlane.client import MemoryStore, TaskWork, plan_run
from runlane.transcript import (
    HistoryPreparation,
    Message,
    Messages,
    PrepareMessages,
    encode_messages,
    plan_with_history,
)

STORED = [Message("user"), Message("assistant")]


class Policy:
    """Keeps the last message; waits for `go`, counts its runs, fails where told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.runs = 0
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, messages: Messages) -> Messages:
        self.runs += 1
        await self.go.wait()
        if self.error:
            raise self.error
        return messages[-1:]


async def test_callers_at_once_and_later_share_one_result() -> None:
    policy = Policy()
    policy.go.clear()
    attempt = HistoryPreparation(STORED, policy, share=TaskWork)
    first, second = (asyncio.ensure_future(attempt.prepare_messages()) for _ in range(2))
    await asyncio.sleep(0)
    policy.go.set()
    messages = await first
    assert await second is messages
    assert await attempt.prepare_messages() is messages
    assert messages == (Message("assistant"),)
    assert policy.runs == 1


async def test_callers_at_once_and_later_share_one_error() -> None:
    policy = Policy(RuntimeError("down"))
    attempt = HistoryPreparation(STORED, policy, share=TaskWork)
    results = await asyncio.gather(*(attempt.prepare_messages() for _ in range(3)), return_exceptions=True)
    with pytest.raises(RuntimeError) as late:
        await attempt.prepare_messages()
    assert {id(result) for result in results} == {id(late.value)}
    assert policy.runs == 1


async def test_a_cancelled_caller_does_not_stop_the_others() -> None:
    policy = Policy()
    policy.go.clear()
    attempt = HistoryPreparation(STORED, policy, share=TaskWork)
    first, second = (asyncio.ensure_future(attempt.prepare_messages()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    policy.go.set()
    assert await second == (Message("assistant"),)
    assert policy.runs == 1


async def test_without_a_policy_the_messages_come_back_as_they_are() -> None:
    assert await HistoryPreparation(STORED, None, share=TaskWork).prepare_messages() == tuple(STORED)


@pytest.mark.case("C352")
async def test_a_planner_that_never_asks_runs_no_policy() -> None:
    policy = Policy(RuntimeError("down"))

    async def planner(prepare: PrepareMessages) -> str:
        return "done"

    assert await plan_with_history(STORED, policy, planner, share=TaskWork) == "done"
    assert policy.runs == 0


@pytest.mark.case("C352")
async def test_a_failed_preparation_fails_the_attempt_though_the_planner_ignored_it() -> None:
    failure = RuntimeError("down")

    async def planner(prepare: PrepareMessages) -> str:
        with pytest.raises(RuntimeError):
            await prepare()
        return "done"

    with pytest.raises(RuntimeError) as caught:
        await plan_with_history(STORED, Policy(failure), planner, share=TaskWork)
    assert caught.value is failure


@pytest.mark.case("C352")
async def test_a_failed_preparation_outranks_a_later_error_of_the_planner() -> None:
    failure = RuntimeError("down")

    async def planner(prepare: PrepareMessages) -> str:
        with pytest.raises(RuntimeError):
            await prepare()
        raise KeyError

    with pytest.raises(RuntimeError) as caught:
        await plan_with_history(STORED, Policy(failure), planner, share=TaskWork)
    assert caught.value is failure


async def test_a_planner_s_own_error_surfaces_after_a_good_preparation() -> None:
    async def planner(prepare: PrepareMessages) -> str:
        await prepare()
        raise KeyError

    with pytest.raises(KeyError):
        await plan_with_history(STORED, Policy(), planner, share=TaskWork)


async def test_cancelling_the_attempt_stops_the_policy() -> None:
    policy = Policy()
    policy.go.clear()
    started, stopped = asyncio.Event(), asyncio.Event()

    async def watched(messages: Messages) -> Messages:
        started.set()
        try:
            return await policy(messages)
        except asyncio.CancelledError:
            stopped.set()
            raise

    async def planner(prepare: PrepareMessages) -> Messages:
        return await prepare()

    attempt = asyncio.ensure_future(plan_with_history(STORED, watched, planner, share=TaskWork))
    await started.wait()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    await stopped.wait()
    assert attempt.cancelled()


@pytest.mark.case("C353")
async def test_a_new_attempt_prepares_afresh_and_stored_messages_stay() -> None:
    policy = Policy()
    before = list(STORED)

    async def planner(prepare: PrepareMessages) -> Messages:
        return await prepare()

    assert await plan_with_history(STORED, policy, planner, share=TaskWork) == (Message("assistant"),)
    assert await plan_with_history(STORED, policy, planner, share=TaskWork) == (Message("assistant"),)
    assert policy.runs == 2
    assert before == STORED


async def test_an_attempt_over_a_stored_run_prepares_once_and_leaves_the_run_as_it_is() -> None:
    store, policy = MemoryStore(), Policy()
    async with store.run("r", "agent") as run:
        await run.append("transcript_messages_seeded", encode_messages(STORED))

    async def planner(prepare: PrepareMessages) -> list[Messages]:
        return await asyncio.gather(prepare(), prepare())

    before = await store.list_run_records("r")
    assert await plan_run(store, "r", planner, policy=policy) == [(Message("assistant"),)] * 2
    assert policy.runs == 1
    assert await plan_run(store, "r", planner) == [tuple(STORED)] * 2
    assert await store.list_run_records("r") == before
    await plan_run(store, "r", planner, policy=policy)
    assert policy.runs == 2
