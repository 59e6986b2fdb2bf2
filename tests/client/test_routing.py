"""How a command finds the lane that decides it (design, Run ids)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from runlane.client.lanes import LaneCache
from runlane.contract.commands import ClaimReceipt, ClaimRun, StartOneShotChildRun, StartRootRun
from runlane.contract.errors import (
    InvalidCommand,
    NotPermitted,
    RunConflict,
    RunNotFound,
    RunSessionMismatch,
    SessionNotFound,
)
from tests.client.make import begin, canceled, linked, one_shot, one_shot_child, record, start_of, started
from tests.client.scripted import NOW, ScriptedTransport, store_over


def lanes_of(wire: ScriptedTransport) -> list[str]:
    return [letter.lane for letter in wire.sent]


async def test_a_start_claims_its_run_id_and_carries_the_receipt() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await store.create_session("session", NOW)
        wire.script()
        start = start_of()
        await store.start_root_run(start, started=started(start), canceled=canceled(start))
        claim, begun = (letter.command for letter in wire.sent)
        assert claim == ClaimRun("run", "s/session")
        assert isinstance(begun, StartRootRun)
        assert begun.receipt is not None
        assert (begun.receipt.run_id, begun.receipt.lane) == ("run", "s/session")
        assert lanes_of(wire) == ["r/run", "s/session"]


async def test_an_invalid_start_claims_nothing() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        start = start_of()
        with pytest.raises(InvalidCommand):
            await store.start_root_run(start, started=started(start), canceled=None)
        assert wire.sent == []


async def test_a_given_receipt_is_used_as_it_is() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await store.create_session("session", NOW)
        start = start_of()
        forged = ClaimReceipt("run", "s/session", 0, 7, "key", b"forged")
        with pytest.raises(NotPermitted):
            await store.execute(StartRootRun(start, started(start), canceled(start), forged))


async def test_the_store_that_started_a_run_goes_to_its_lane_at_once() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        wire.script()
        await store.append_run_record(record("k"))
        assert lanes_of(wire) == ["s/session"]


async def test_another_store_follows_wrong_lane_once_and_remembers() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as starter:
        await begin(starter)
    async with store_over(wire) as store:
        wire.script()
        await store.append_run_record(record("k1"))
        await store.append_run_record(record("k2"))
        assert lanes_of(wire) == ["r/run", "s/session", "s/session"]


async def test_an_unknown_run_is_answered_by_its_claim_lane() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        with pytest.raises(RunNotFound):
            await store.append_run_record(record("k"))
        assert lanes_of(wire) == ["r/run"]


async def test_run_not_found_in_a_known_lane_is_confirmed_by_the_claim_lane() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        start = start_of()
        with pytest.raises(SessionNotFound):
            await store.start_root_run(start, started=started(start), canceled=canceled(start))
        wire.script()
        with pytest.raises(RunNotFound):
            await store.append_run_record(record("k"))
        assert lanes_of(wire) == ["s/session", "r/run"]


async def test_a_lane_known_from_another_life_of_the_journal_is_corrected() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await begin(store)
        listener = wire.listener
        wire.wipe()
        async with store_over(wire) as other:
            await begin(other, session="elsewhere")
        await wire.open(listener)
        wire.script()
        result = await store.append_run_record(record("k", session="elsewhere"))
        assert result.inserted
        assert lanes_of(wire) == ["s/session", "r/run", "s/elsewhere"]


async def test_a_one_shot_root_claims_and_starts_in_one_command() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await one_shot(store, "root")
        assert lanes_of(wire) == ["r/root"]


async def test_a_one_shot_child_goes_to_the_lane_of_its_root() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await one_shot(store, "root")
        await one_shot_child(store, "child", "root")
        wire.script()
        await one_shot_child(store, "grandchild", "child")
        assert lanes_of(wire) == ["r/grandchild", "r/root"]
        claim = wire.sent[0].command
        assert claim == ClaimRun("grandchild", "r/root")


async def test_another_store_learns_the_lane_of_a_one_shot_parent_before_it_claims() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as starter:
        await one_shot(starter, "root")
        await one_shot_child(starter, "child", "root")
    async with store_over(wire) as store:
        wire.script()
        await one_shot_child(store, "grandchild", "child")
        await one_shot_child(store, "second", "root")
    assert lanes_of(wire) == [
        *("r/child", "r/grandchild", "r/root"),
        *("r/root", "r/second", "r/root"),
    ]


async def test_a_one_shot_child_of_an_unknown_parent_claims_nothing() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        with pytest.raises(RunNotFound):
            await one_shot_child(store, "child", "nobody")
        assert lanes_of(wire) == ["r/nobody"]


async def test_a_one_shot_child_of_a_session_run_is_refused_by_its_lane() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as starter:
        await begin(starter)
    async with store_over(wire) as store:
        start = start_of("child", session="", parent="run")
        with pytest.raises(RunSessionMismatch):
            await store.execute(StartOneShotChildRun(start, linked(start), started(start)))


async def test_two_sessions_race_for_a_run_id_and_one_wins() -> None:
    wire = ScriptedTransport()
    async with store_over(wire) as store:
        await store.create_session("a", NOW)
        await store.create_session("b", NOW)
        for number in range(20):
            starts = [start_of(f"run{number}", session=session) for session in ("a", "b")]
            results = await asyncio.gather(
                *(store.start_root_run(s, started=started(s), canceled=canceled(s)) for s in starts),
                return_exceptions=True,
            )
            assert sorted(type(result).__name__ for result in results) == [
                "RootRunStartResult",
                "RunConflict",
            ]


async def test_a_claim_is_repeated_exactly_and_refused_to_another_lane() -> None:
    async with store_over(ScriptedTransport()) as store:
        first = await store.claim_run("run", "s/session")
        again = await store.claim_run("run", "s/session")
        assert (first.inserted, again.inserted) == (True, False)
        assert again.receipt == first.receipt
        with pytest.raises(RunConflict):
            await store.claim_run("run", "s/other")


@pytest.mark.case("C068")
async def test_labels_that_the_caller_changes_later_are_not_the_run_s() -> None:
    async with store_over(ScriptedTransport()) as store:
        await store.create_session("session", NOW)
        labels = {"team": "red"}
        start = replace(start_of(), labels=labels)
        payload = b'{"labels":{"team":"red"}}'
        stop = (
            b'{"status":"canceled","phase":"canceled","cancellation":{"reason":"session_ended"},'
            b'"labels":{"team":"red"}}'
        )
        start_run = asyncio.create_task(
            store.start_root_run(
                start,
                started=replace(started(start), payload=payload),
                canceled=replace(canceled(start), payload=stop),
            )
        )
        await asyncio.sleep(0)
        labels["team"] = "blue"
        await start_run
        labels["more"] = "x"
        assert (await store.load_run("run")).labels == {"team": "red"}


def test_the_lane_cache_forgets_what_was_not_used_longest() -> None:
    lanes = LaneCache(2)
    lanes.put("a", "s/1")
    lanes.put("b", "s/2")
    assert lanes.get("a") == "s/1"
    lanes.put("c", "s/3")
    assert [lanes.get(run) for run in ("a", "b", "c")] == ["s/1", None, "s/3"]
