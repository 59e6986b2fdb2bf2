"""The storage activity: write, then tell (cases of sections recovery and stream)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runlane.client import MemoryStore
from runlane.client.recovery import CancellationOutcome, StorageActivity
from runlane.contract.commands import (
    Command,
    RecordRunCancellation,
    RecordRunSuspension,
    RecordRunTerminal,
    StartOneShotChildRun,
    StartOneShotRun,
)
from runlane.contract.errors import ContractError, EventConflict, InvalidCommand, InvalidResult, Unavailable
from runlane.contract.outcomes import (
    NO_RECORD,
    AppendResult,
    OneShotRunStartResult,
    Result,
    RootRunStartResult,
)
from runlane.contract.payloads import CancellationIntent, RunCompleted, RunSuspended
from runlane.contract.stream import Stream
from runlane.contract.values import RunRecord, RunStatus, RunSuspension, SessionStatus, StartOutcome
from tests.client.make import linked, start_of, started
from tests.client.scripted import NOW
from tests.recovery.doubles import Listener, Sink, child, note, root, types_of


class Answering:
    """A store that gives one answer to everything."""

    def __init__(self, result: Result) -> None:
        self.result = result

    async def execute(self, command: Command) -> Result:
        return self.result


def lifecycle(record_type: str, payload: bytes, key: str = "") -> RunRecord:
    return RunRecord(key or record_type, "run", "agent", "session", "", record_type, payload, NOW)


@pytest.mark.case("C386")
async def test_a_batch_stops_at_the_record_that_fails_and_can_be_repeated(store: MemoryStore) -> None:
    sink, bus = Sink(), Listener()
    activity = StorageActivity(store, stream=Stream(sink), bus=bus)
    await store.append_run_record(replace(note("2"), payload=b'{"Note":"in the way"}'))
    with pytest.raises(EventConflict) as refused:
        await activity.append([note("1"), note("2"), note("3")])
    assert isinstance(refused.value, ContractError)
    assert await types_of(store) == ["run_started", "child_run_linked", "planner_note", "planner_note"]
    results = await activity.append([note("1"), note("4")])
    assert [result.inserted for result in results] == [False, True]
    assert [event.event_key for event in sink.events] == ["1", "1", "4"]
    assert [record.event_key for record in bus.records] == ["1", "4"]


async def test_a_batch_holds_at_least_one_record(store: MemoryStore) -> None:
    with pytest.raises(InvalidCommand) as refused:
        await StorageActivity(store).append([])
    assert refused.value.code == "record_required"


@pytest.mark.case("C362")
async def test_a_failing_sink_fails_the_activity_and_its_retry_emits_again(store: MemoryStore) -> None:
    sink, bus = Sink(Unavailable("down")), Listener()
    activity = StorageActivity(store, stream=Stream(sink), bus=bus)
    with pytest.raises(Unavailable):
        await activity.append([note("1")])
    (result,) = await activity.append([note("1")])
    assert not result.inserted
    assert [event.identity for event in sink.events] == [("run", "planner_thought", "1")]
    assert len(bus.records) == 1


async def test_a_start_delivers_its_link_before_its_child(store: MemoryStore) -> None:
    sink, bus = Sink(), Listener()
    activity = StorageActivity(store, stream=Stream(sink), bus=bus)
    assert await activity.start(root("root")) is StartOutcome.PROCEED
    assert await activity.start(child("second")) is StartOutcome.PROCEED
    assert await activity.start(child("second")) is StartOutcome.PROCEED
    assert [event.event_key for event in sink.events] == ["link/second"] * 2
    assert [record.event_key for record in bus.records] == ["started", "link/second", "started"]


@pytest.mark.case("C364")
async def test_a_stopped_start_tells_the_bus_and_streams_nothing(store: MemoryStore) -> None:
    await store.end_session("session", NOW)
    sink, bus = Sink(), Listener()
    activity = StorageActivity(store, stream=Stream(sink), bus=bus)
    assert await activity.start(child("second")) is StartOutcome.STOP
    assert [record.event_key for record in bus.records] == ["link/second", "started", "canceled"]
    assert sink.events == []


async def test_sessionless_starts_stream_nothing(store: MemoryStore) -> None:
    sink, bus = Sink(), Listener()
    activity = StorageActivity(store, stream=Stream(sink), bus=bus)
    first = start_of("single", session="")
    second = start_of("single-child", session="", parent="single")
    assert await activity.start(StartOneShotRun(first, started(first))) is StartOutcome.PROCEED
    outcome = await activity.start(StartOneShotChildRun(second, linked(second), started(second)))
    assert outcome is StartOutcome.PROCEED
    assert (len(bus.records), sink.events) == (3, [])


def answer(status: Any, *, inserted: bool = True) -> AppendResult:
    return AppendResult("1", inserted, status)


ACTIVE, ENDED, NONE = SessionStatus.ACTIVE, SessionStatus.ENDED, SessionStatus.NONE
PROCEED, STOP = StartOutcome.PROCEED, StartOutcome.STOP


@pytest.mark.case("C388")
@pytest.mark.parametrize(
    ("result", "code"),
    [
        (RootRunStartResult(STOP, answer(ENDED), answer(ACTIVE)), "start_statuses"),
        (RootRunStartResult(STOP, answer(ACTIVE), answer(ACTIVE)), "start_status"),
        (RootRunStartResult(PROCEED, answer(ENDED)), "start_status"),
        (RootRunStartResult(PROCEED, answer(NONE)), "start_status"),
        (RootRunStartResult(PROCEED, answer("gone")), "start_status"),
        (OneShotRunStartResult(answer(NONE)), "result_kind"),
    ],
)
async def test_a_start_result_that_cannot_be_is_not_retried(result: Result, code: str) -> None:
    sink = Sink()
    with pytest.raises(InvalidResult) as refused:
        await StorageActivity(Answering(result), stream=Stream(sink)).start(root())
    assert refused.value.code == code
    assert not refused.value.retryable
    assert sink.events == []


@pytest.mark.case("C388")
async def test_a_repeated_start_may_find_its_session_ended() -> None:
    result = RootRunStartResult(PROCEED, answer(ENDED, inserted=False))
    assert await StorageActivity(Answering(result)).start(root()) is PROCEED


@pytest.mark.case("C388")
async def test_a_sessionless_start_has_no_session_status() -> None:
    run = start_of("single", session="")
    activity = StorageActivity(Answering(OneShotRunStartResult(answer(ACTIVE))))
    with pytest.raises(InvalidResult) as refused:
        await activity.start(StartOneShotRun(run, started(run)))
    assert refused.value.code == "start_status"


async def test_an_append_must_be_answered_as_one() -> None:
    activity = StorageActivity(Answering(RootRunStartResult(PROCEED, answer(ACTIVE))))
    with pytest.raises(InvalidResult) as refused:
        await activity.append([note("1")])
    assert refused.value.code == "result_kind"


async def test_a_cancellation_conflict_is_an_outcome(store: MemoryStore) -> None:
    def cancellation(reason: str) -> RecordRunCancellation:
        payload = CancellationIntent(reason=reason).encode()
        return RecordRunCancellation(
            "run", reason, lifecycle("runtime.cancellation_intent", payload, key=f"cancel/{reason}")
        )

    activity = StorageActivity(store)
    first = await activity.cancel(cancellation("a"))
    assert (first.outcome, first.record.inserted) == (CancellationOutcome.ACCEPTED, True)
    second = await activity.cancel(cancellation("b"))
    assert (second.outcome, second.record) == (CancellationOutcome.CONFLICT, NO_RECORD)


@pytest.mark.parametrize("suspended", [False, True])
async def test_an_end_is_streamed(store: MemoryStore, suspended: bool) -> None:
    sink = Sink()
    activity = StorageActivity(store, stream=Stream(sink))
    command: RecordRunSuspension | RecordRunTerminal
    if suspended:
        payload = RunSuspended(suspension_id="s").encode()
        command = RecordRunSuspension("run", RunSuspension("s", b"x"), lifecycle("run_suspended", payload))
    else:
        payload = RunCompleted.success().encode()
        command = RecordRunTerminal("run", RunStatus.COMPLETED, lifecycle("run_completed", payload))
    assert (await activity.end(command)).inserted
    assert sink.types() == ["workflow", "run_stream_end"]
