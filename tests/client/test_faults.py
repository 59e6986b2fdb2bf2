"""What the wire may do to a command: each fault ends in one answer, or an error that says what is unknown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from runlane.contract.commands import AppendRunRecord
from runlane.contract.errors import ContractError, NotPermitted, OutcomeUnknown, Overloaded, Unavailable
from runlane.contract.outcomes import AppendResult
from tests.client.make import begin, record
from tests.client.scripted import QUICK, ScriptedTransport, Step, leap, store_over, until

Call = Coroutine[Any, Any, AppendResult]
SECRET = b'{"secret":"do not show"}'
OVER = QUICK.timeout + 1


async def overdue(call: Call, reached: Callable[[], bool], monkeypatch: pytest.MonkeyPatch) -> AppendResult:
    """Make a call whose time is over once something is reached."""
    calling = asyncio.create_task(call)
    await until(reached)
    leap(OVER, monkeypatch)
    return await calling


async def test_a_lost_outcome_repeats_the_same_bytes_under_the_same_id() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(Step.LOSE_OUTCOME)
        result = await store.append_run_record(record("k"))
        assert (result.id, result.inserted) == ("2", False)
        first, second = wire.sent
        assert first == second
        assert len((await store.list_run_records("run")).records) == 2


async def test_a_doubled_outcome_answers_once() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(Step.ANSWER_TWICE, Step.ANSWER)
        first = await store.append_run_record(record("k1"))
        second = await store.append_run_record(record("k2"))
        assert (first.id, second.id) == ("2", "3")
        assert len(wire.sent) == 2


async def test_a_late_outcome_answers_the_repeated_command() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(Step.HOLD_OUTCOME, *[Step.DROP] * 20)
        append = asyncio.create_task(store.append_run_record(record("k")))
        await until(lambda: len(wire.sent) > 1)
        wire.release()
        result = await append
        assert (result.id, result.inserted) == ("2", True)


async def test_an_outcome_of_nobody_changes_nothing() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        stray = wire.delivered[-1]._replace(correlation_id="somebody-else")
        wire.listener.answered(stray)
        wire.listener.answered(wire.delivered[-1])
        assert not wire.listener.waits_for("somebody-else")
        assert (await store.append_run_record(record("k"))).inserted


@pytest.mark.parametrize("fault", [Step.BUSY, Step.FAIL_DELIVERY, Step.REFUSE])
async def test_a_temporary_failure_is_repeated_exactly(fault: Step) -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(fault, fault)
        result = await store.append_run_record(record("k"))
        assert (result.id, result.inserted) == ("2", True)
        assert len({letter.body for letter in wire.sent}) == 1


async def test_an_answered_temporary_failure_is_asked_again_under_another_id() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(Step.BUSY)
        await store.append_run_record(record("k"))
        first, second = wire.sent
        assert first.body == second.body
        assert first.correlation_id != second.correlation_id


async def test_time_without_an_answer_says_what_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(*[Step.DROP] * 100)
        append = store.append_run_record(record("k", payload=SECRET))
        with pytest.raises(OutcomeUnknown) as unknown:
            await overdue(append, lambda: len(wire.sent) > 1, monkeypatch)
        assert unknown.value.retryable
        assert "append_run_record of 'k' in run 'run'" in unknown.value.message
        assert "may or may not be committed" in unknown.value.message
        assert "secret" not in unknown.value.message
        assert not isinstance(unknown.value, ContractError)


async def test_an_answer_of_the_moment_in_which_time_is_over_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = ScriptedTransport()
    async with store_over(wire, replace(QUICK, answer_wait=60)) as store:
        await begin(store)
        wire.script(Step.HOLD_OUTCOME)
        append = asyncio.create_task(store.append_run_record(record("k")))
        await until(lambda: bool(wire._held))
        leap(OVER, monkeypatch)
        asyncio.get_running_loop().call_soon(wire.release)
        assert (await append).inserted


async def test_a_command_that_was_never_sent_is_not_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(*[Step.REFUSE] * 1000)
        append = store.append_run_record(record("k"))
        with pytest.raises(Unavailable, match="not sent") as unsent:
            await overdue(append, lambda: wire.refused > 1, monkeypatch)
        assert "cut" in unsent.value.message
        assert wire.sent == []


async def test_a_temporary_failure_until_the_end_is_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(*[Step.BUSY] * 1000)
        append = store.append_run_record(record("k"))
        with pytest.raises(Unavailable, match="busy"):
            await overdue(append, lambda: len(wire.sent) > 1, monkeypatch)


@pytest.mark.case("C269")
async def test_after_a_temporary_failure_the_identical_retry_may_succeed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(*[Step.LOSE_OUTCOME] * 20)
        append = store.append_run_record(record("k"))
        with pytest.raises(OutcomeUnknown) as unknown:
            await overdue(append, lambda: len(wire.sent) > 1, monkeypatch)
        assert not isinstance(unknown.value, ContractError)
        wire.script()
        assert (await store.append_run_record(record("k"))).id == "2"


async def test_a_moved_broker_gets_every_open_command_again_in_order() -> None:
    wire = ScriptedTransport()
    async with store_over(wire, replace(QUICK, answer_wait=60)) as store:
        await begin(store)
        wire.script(*[Step.DROP] * 3)
        appends = [asyncio.create_task(store.append_run_record(record(f"k{n}"))) for n in range(3)]
        await until(lambda: len(wire.sent) == 3)
        before = list(wire.sent)
        wire.listener.moved()
        results = await asyncio.gather(*appends)
        assert [result.id for result in results] == ["2", "3", "4"]
        assert wire.sent[3:] == before


async def test_a_refusal_of_the_broker_ends_the_command() -> None:
    wire = ScriptedTransport()
    async with store_over(wire, replace(QUICK, answer_wait=60)) as store:
        await begin(store)
        wire.script(Step.DROP)
        append = asyncio.create_task(store.append_run_record(record("k")))
        await until(lambda: bool(wire.sent))
        refusal = ContractError("too large", code="message_too_large")
        wire.listener.failed(wire.sent[0].correlation_id, refusal)
        with pytest.raises(ContractError) as refused:
            await append
        assert refused.value.code == "message_too_large"


async def test_closing_the_store_tells_whoever_waits() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script(*[Step.DROP] * 100)
        append = asyncio.create_task(store.append_run_record(record("k")))
        await until(lambda: bool(wire.sent))
    with pytest.raises(OutcomeUnknown, match="closed"):
        await append
    assert not wire.opened


async def test_a_cancelled_call_leaves_its_command_alone_and_frees_its_room() -> None:
    wire = ScriptedTransport(size=100)
    async with store_over(wire, replace(QUICK, max_partition_bytes=100, answer_wait=60)) as store:
        await begin(store)
        wire.script(Step.HOLD_OUTCOME)
        append = asyncio.create_task(store.append_run_record(record("k1")))
        await until(lambda: bool(wire.sent))
        append.cancel()
        with pytest.raises(asyncio.CancelledError):
            await append
        assert (await store.append_run_record(record("k2"))).id == "3"
        wire.release()
        assert (await store.append_run_record(record("k1"))).inserted is False


async def test_bytes_in_flight_are_bounded() -> None:
    wire = ScriptedTransport(size=100)
    async with store_over(wire, replace(QUICK, max_partition_bytes=350)) as store:
        await begin(store)
        results = await asyncio.gather(*(store.append_run_record(record(f"k{n}")) for n in range(50)))
        assert [result.id for result in results] == [str(n) for n in range(2, 52)]
        assert wire.most_in_flight == 300


async def test_a_command_that_finds_no_room_in_time_was_not_sent() -> None:
    wire = ScriptedTransport(size=100)
    async with store_over(wire, replace(QUICK, max_partition_bytes=100, answer_wait=60)) as store:
        await begin(store)
        wire.script(Step.DROP)
        first = asyncio.create_task(store.append_run_record(record("k1")))
        await until(lambda: bool(wire.sent))
        # Its time is over long before that of the first, which would give its room back.
        soon = asyncio.get_running_loop().time() + 0.05
        with pytest.raises(Overloaded):
            await store._exchange.ask("s/session", AppendRunRecord(record("k2")), soon)
        assert len(wire.sent) == 1
    with pytest.raises(OutcomeUnknown, match="closed"):
        await first


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"{", "json.syntax"),
        (b'{"a":1,"a":2}', "json.duplicate_key"),
        (b'"' + b"x" * 900 * 1024 + b'"', "payload_too_large"),
    ],
)
async def test_malformed_and_oversize_payloads_are_never_sent(payload: bytes, code: str) -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script()
        with pytest.raises(ContractError) as refused:
            await store.execute(AppendRunRecord(record("k", payload=payload)))
        assert refused.value.code == code
        assert wire.sent == []


async def test_a_broker_that_refuses_our_user_ends_the_command_at_once() -> None:
    wire = ScriptedTransport()
    async with store_over(wire, replace(QUICK, answer_wait=60)) as store:
        await begin(store)
        wire.script(Step.FORBID)
        with pytest.raises(NotPermitted) as refused:
            await store.append_run_record(record("k"))
        assert refused.value.code == "kafka_not_permitted"


async def test_what_was_sent_before_the_broker_refused_our_user_is_unknown() -> None:
    wire = ScriptedTransport()
    async with store_over(wire, replace(QUICK, answer_wait=60)) as store:
        await begin(store)
        wire.script(Step.DROP, Step.FORBID)
        append = asyncio.create_task(store.append_run_record(record("k")))
        await until(lambda: bool(wire.sent))
        wire.listener.moved()
        with pytest.raises(OutcomeUnknown, match="kafka_not_permitted"):
            await append
