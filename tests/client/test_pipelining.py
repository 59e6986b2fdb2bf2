"""Appends that do not wait for each other keep their order, whatever the wire does."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from runlane.contract.errors import EventConflict, InvalidCommand, OutOfOrder
from tests.client.make import begin, record
from tests.client.scripted import NOW, QUICK, ScriptedTransport, Step, leap, store_over, until


async def test_posted_records_are_stored_in_their_order() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await store.create_session("session", NOW)
        async with store.run("run", "agent", session_id="session") as run:
            wire.script(Step.ANSWER, Step.DROP, Step.FAIL_DELIVERY, Step.LOSE_OUTCOME, Step.BUSY)
            tasks = [await run.post("note", {"n": n}) for n in range(20)]
            results = await asyncio.gather(*tasks)
        assert [int(result.id) for result in results] == list(range(2, 22))
        payloads = [r.payload for r in (await store.list_run_records("run")).records if r.type == "note"]
        assert payloads == [b'{"n":%d}' % n for n in range(20)]


async def test_posting_does_not_wait_for_answers() -> None:
    wire = ScriptedTransport()
    async with store_over(wire, replace(QUICK, answer_wait=60)) as store:
        await store.create_session("session", NOW)
        async with store.run("run", "agent", session_id="session") as run:
            wire.script(*[Step.HOLD_OUTCOME] * 3)
            tasks = [await run.post("note", "{}") for _ in range(3)]
            await asyncio.sleep(0)
            assert not any(task.done() for task in tasks)
            wire.release()


async def test_posting_waits_for_room_in_flight() -> None:
    wire = ScriptedTransport(size=100)
    async with store_over(wire, replace(QUICK, max_partition_bytes=200, answer_wait=60)) as store:
        await store.create_session("session", NOW)
        async with store.run("run", "agent", session_id="session") as run:
            wire.script(*[Step.HOLD_OUTCOME] * 2)
            await run.post("note", "{}")
            await run.post("note", "{}")
            third = asyncio.create_task(run.post("note", "{}"))
            await asyncio.sleep(0.01)
            assert not third.done()
            wire.release()
            await (await third)


async def test_an_append_that_came_first_goes_again_after_the_one_it_follows() -> None:
    wire = ScriptedTransport()
    async with store_over(wire, replace(QUICK, answer_wait=60)) as store:
        await begin(store)
        wire.script(Step.DROP)
        first = asyncio.create_task(store.append_run_record(record("k1")))
        await until(lambda: bool(wire.sent))
        second = asyncio.create_task(store.append_run_record(record("k2"), after_key="k1"))
        await until(lambda: wire.delivered[-1].error is not None)
        await asyncio.sleep(0.05)
        wire.listener.moved()
        assert [r.id for r in await asyncio.gather(first, second)] == ["2", "3"]
        # Once too early and once after its predecessor; not again and again in between.
        assert [letter.command.record.event_key for letter in wire.sent] == ["k1", "k2", "k1", "k2"]  # type: ignore[union-attr]


async def test_what_follows_a_refused_append_is_out_of_order_at_once() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        await store.append_run_record(record("k1"))
        first = asyncio.create_task(store.append_run_record(replace(record("k2"), agent_id="stranger")))
        second = asyncio.create_task(store.append_run_record(record("k3"), after_key="k2"))
        refused, behind = await asyncio.gather(first, second, return_exceptions=True)
        assert type(refused).__name__ == "RunRecordOwnerMismatch"
        assert isinstance(behind, OutOfOrder)
        assert "refused" in behind.message


async def test_a_predecessor_that_nobody_sends_is_waited_for_until_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = ScriptedTransport()
    patient = replace(QUICK, answer_wait=600, retry_wait=600, max_retry_wait=600)
    async with store_over(wire, patient) as store:
        await begin(store)
        append = asyncio.create_task(store.append_run_record(record("k2"), after_key="k1"))
        await until(lambda: bool(wire.delivered) and wire.delivered[-1].error is not None)
        await asyncio.sleep(0)
        assert not append.done()
        leap(patient.timeout + 1, monkeypatch)
        with pytest.raises(OutOfOrder):
            await append


async def test_a_predecessor_of_another_process_may_still_come() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        append = asyncio.create_task(store.append_run_record(record("k2"), after_key="k1"))
        await until(lambda: bool(wire.delivered) and wire.delivered[-1].error is not None)
        await store.append_run_record(record("k1"))
        assert (await append).id == "3"


async def test_the_end_of_a_run_raises_what_a_posted_record_met() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await store.create_session("session", NOW)

        async def work() -> None:
            async with store.run("run", "agent", session_id="session") as run:
                await run.append("note", {"n": 1}, event_key="k")
                await run.post("note", {"n": 2}, event_key="k")

        with pytest.raises(EventConflict) as conflict:
            await work()
        assert (conflict.value.run_id, conflict.value.event_key) == ("run", "k")
        assert (await store.load_run("run")).status == "failed"


async def test_a_record_that_is_refused_before_it_is_sent_ends_its_post_too() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await store.create_session("session", NOW)

        async def work() -> None:
            async with store.run("run", "agent", session_id="session") as run:
                await run.post("note", "{")
                await run.flush()

        with pytest.raises(InvalidCommand):
            await work()


FAULTS = (Step.ANSWER_TWICE, Step.LOSE_OUTCOME, Step.DROP, Step.FAIL_DELIVERY, Step.REFUSE, Step.BUSY)


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_the_wire_does_each_record_is_stored_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    steps = [chance.choice((Step.ANSWER, *FAULTS)) for _ in range(80)]
    wire = ScriptedTransport(*steps)
    async with store_over(wire) as store:
        await store.create_session("session", NOW)

        async def work(name: str) -> None:
            async with store.run(name, "agent", session_id="session") as run:
                for n in range(15):
                    await (run.post if chance.random() < 0.7 else run.append)("note", {"n": n})

        await asyncio.gather(*(work(f"run{number}") for number in range(4)))
        for number in range(4):
            records = (await store.list_run_records(f"run{number}")).records
            notes = [record.payload for record in records if record.type == "note"]
            assert notes == [b'{"n":%d}' % n for n in range(15)]
            assert [record.type for record in records][::16] == ["run_started", "run_completed"]
