"""`ensure_run_completion` (cases of section recovery)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runlane.client import MemoryStore
from runlane.client.recovery import (
    EngineCompletion,
    EngineOutput,
    EngineStatus,
    SuspensionOutput,
    ensure_run_completion,
)
from runlane.contract.errors import (
    ContractError,
    CorruptRun,
    InvalidCommand,
    InvalidResult,
    RunCompletionNotReady,
    RunNotFound,
    Unavailable,
)
from runlane.contract.outcomes import NO_RECORD, AppendResult, RepairOutcome, RunRepairResult
from runlane.contract.payloads import (
    CancellationIntent,
    Failure,
    RunCompleted,
    decode_run_completed,
    decode_run_suspended,
)
from runlane.contract.stream import METRICS, Stream
from runlane.contract.values import RunRecord, RunStatus, RunSuspension, SessionStatus
from tests.client.scripted import NOW
from tests.recovery.doubles import (
    COMPLETED,
    RUNNING,
    Listener,
    Meddled,
    Pauses,
    Sink,
    Workflow,
    changed,
    child,
    doubled,
    root,
    types_of,
    without,
)

CHECKPOINT = RunSuspension("s1", b"\x00\xff")
SUSPENDED = EngineCompletion(
    EngineStatus.COMPLETED,
    NOW,
    EngineOutput(SuspensionOutput(CHECKPOINT, version="v1", pending_count=2, required_tools=("t",))),
)
CANCELED = EngineCompletion(EngineStatus.CANCELED, NOW, error=asyncio.CancelledError())


async def ensure(store: Any, run: str = "run", *, engine: Any = None, **options: Any) -> RunStatus:
    patience = options.pop("pauses", Pauses()).patience
    return await ensure_run_completion(
        run, store=store, engine=engine or Workflow(), patience=patience, **options
    )


async def complete(store: MemoryStore, run: str = "run", agent: str = "agent") -> None:
    payload = RunCompleted.success().encode()
    record = RunRecord("done", run, agent, "session", "", "run_completed", payload, NOW)
    await store.record_run_terminal(run, RunStatus.COMPLETED, record=record)


async def cancel(store: MemoryStore, reason: str) -> None:
    payload = CancellationIntent(reason=reason).encode()
    record = RunRecord("intent", "run", "agent", "session", "", "runtime.cancellation_intent", payload, NOW)
    await store.record_run_cancellation("run", reason, record=record)


@pytest.mark.case("C376")
async def test_an_ended_run_is_streamed_again_and_nothing_else_happens(store: MemoryStore) -> None:
    await complete(store)
    before = (await store.load_run("run"), await types_of(store))
    sink, bus, engine = Sink(), Listener(), Workflow(Unavailable("not to be asked"))
    status = await ensure(store, engine=engine, stream=Stream(sink), bus=bus)
    assert status is RunStatus.COMPLETED
    assert sink.types() == ["workflow", "run_stream_end"]
    assert [event.event_key for event in sink.events] == ["done", "done/run_stream_end"]
    assert (bus.records, engine.asked) == ([], [])
    assert (await store.load_run("run"), await types_of(store)) == before


@pytest.mark.case("C376")
async def test_a_suspended_run_is_streamed_again(store: MemoryStore) -> None:
    await ensure(store, engine=Workflow(SUSPENDED), stream=Stream(Sink()))
    sink = Sink()
    assert await ensure(store, stream=Stream(sink)) is RunStatus.SUSPENDED
    assert sink.types() == ["workflow", "run_stream_end"]


@pytest.mark.case("C377")
async def test_an_unfinished_engine_stores_nothing(meddled: Meddled) -> None:
    with pytest.raises(RunCompletionNotReady) as refused:
        await ensure(meddled, engine=Workflow(RUNNING), stream=Stream(Sink()))
    assert refused.value.retryable
    assert meddled.repairs == 0


async def test_what_the_engine_raises_is_not_the_runs_end(meddled: Meddled) -> None:
    with pytest.raises(ConnectionError):
        await ensure(meddled, engine=Workflow(ConnectionError()), stream=Stream(Sink()))
    assert meddled.repairs == 0


async def test_a_finished_run_is_stored_told_once_and_streamed(store: MemoryStore) -> None:
    sink, bus = Sink(), Listener()
    ended = replace(COMPLETED, ended_at=NOW + timedelta(microseconds=1_500))
    assert await ensure(store, engine=Workflow(ended), stream=Stream(sink), bus=bus) is RunStatus.COMPLETED
    end = (await store.list_run_records("run")).records[-1]
    assert (end.type, end.event_key) == ("run_completed", "run_completed")
    assert end.timestamp == NOW + timedelta(milliseconds=1)
    assert sink.types() == ["workflow", "run_stream_end"]
    assert [record.event_key for record in bus.records] == ["run_completed"]


async def test_a_profile_chooses_what_is_streamed(store: MemoryStore) -> None:
    sink = Sink()
    await ensure(store, "child", stream=Stream(sink, METRICS))
    assert sink.types() == ["workflow", "run_stream_end"]


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        (EngineCompletion(EngineStatus.FAILED, NOW, error=ValueError("planner")), "internal"),
        (EngineCompletion(EngineStatus.FAILED, NOW, error=Failure(message="m", kind="auth")), "auth"),
        (EngineCompletion(EngineStatus.TIMED_OUT, NOW, error=ValueError("late")), "timeout"),
    ],
    ids=["exception", "failure", "timed out"],
)
async def test_a_failed_workflow_fails_its_run(
    store: MemoryStore, completion: EngineCompletion, kind: str
) -> None:
    assert await ensure(store, engine=Workflow(completion), stream=Stream(Sink())) is RunStatus.FAILED
    payload = decode_run_completed((await store.list_run_records("run")).records[-1].payload)
    assert payload.failure is not None
    assert payload.failure.kind == kind


@pytest.mark.case("C379")
@pytest.mark.parametrize("stored", ["", "user_requested"])
async def test_a_canceled_workflow_has_the_stored_reason_or_the_engines(
    store: MemoryStore, stored: str
) -> None:
    if stored:
        await cancel(store, stored)
    assert await ensure(store, engine=Workflow(CANCELED), stream=Stream(Sink())) is RunStatus.CANCELED
    payload = decode_run_completed((await store.list_run_records("run")).records[-1].payload)
    assert payload.cancellation is not None
    assert payload.cancellation.reason == (stored or "engine_canceled")


@pytest.mark.case("C379")
async def test_a_reason_recorded_meanwhile_is_heeded(meddled: Meddled) -> None:
    meddled.before_repair = lambda: cancel(meddled.store, "user_requested")
    assert await ensure(meddled, engine=Workflow(CANCELED), stream=Stream(Sink())) is RunStatus.CANCELED
    assert meddled.repairs == 2


async def test_a_returned_suspension_suspends_the_run(store: MemoryStore) -> None:
    assert await ensure(store, engine=Workflow(SUSPENDED), stream=Stream(Sink())) is RunStatus.SUSPENDED
    assert await store.load_run_suspension("run") == CHECKPOINT
    payload = decode_run_suspended((await store.list_run_records("run")).records[-1].payload)
    assert (payload.version, payload.pending_count, payload.required_tools) == ("v1", 2, ("t",))


@pytest.mark.case("C380")
@pytest.mark.parametrize("ended", [False, True])
async def test_a_childs_link_goes_first(store: MemoryStore, ended: bool) -> None:
    if ended:
        await complete(store, "child", "child-agent")
    sink = Sink()
    await ensure(store, "child", stream=Stream(sink))
    assert sink.types() == ["child_run_linked", "workflow", "run_stream_end"]
    assert [event.run_id for event in sink.events] == ["run", "child", "child"]


@pytest.mark.case("C380")
@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (without("child_run_linked"), "not_one_link"),
        (doubled("child_run_linked"), "not_one_link"),
        (changed("child_run_linked", payload=b"{"), "link_payload"),
        (changed("child_run_linked", agent_id="other"), "link_owner"),
        (
            changed(
                "child_run_linked",
                payload=b'{"ToolName":"t","ToolCallID":"c","ChildRunID":"child","ChildAgentID":"other"}',
            ),
            "link_child",
        ),
    ],
    ids=["missing", "doubled", "unreadable", "of another agent", "to another agent"],
)
async def test_a_wrong_link_is_corruption_and_nothing_is_written(
    meddled: Meddled, edit: Any, code: str, ended: bool
) -> None:
    if ended:
        await complete(meddled.store, "child", "child-agent")
    meddled.edits["run"] = edit
    with pytest.raises(CorruptRun) as refused:
        await ensure(meddled, "child")
    assert refused.value.code == code
    assert meddled.repairs == 0


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (without("run_started"), "not_one_start"),
        (doubled("run_started"), "not_one_start"),
        (changed("run_started", payload=b"null"), "start_payload"),
        (changed("run_started", agent_id="other"), "start_owner"),
        (changed("run_started", timestamp=NOW + timedelta(milliseconds=1)), "start_time"),
        (changed("run_started", payload=b'{"parent_run_id":"p"}'), "start_parent"),
        (changed("run_started", payload=b'{"predecessor_run_id":"run"}'), "start_predecessor"),
        (changed("run_started", payload=b'{"labels":{"a":"b"}}'), "start_labels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_wrong_start_is_corruption_and_nothing_is_written(
    meddled: Meddled, edit: Any, code: str
) -> None:
    meddled.edits["run"] = edit
    with pytest.raises(CorruptRun) as refused:
        await ensure(meddled)
    assert refused.value.code == code
    assert meddled.repairs == 0


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (without("run_completed"), "not_one_end"),
        (doubled("run_completed"), "not_one_end"),
        (changed("run_completed", payload=b"{}"), "end_payload"),
        (changed("run_completed", agent_id="other"), "end_owner"),
        (changed("run_completed", type="run_suspended"), "end_status"),
        (changed("run_completed", payload=RunCompleted.canceled().encode()), "end_status"),
        (changed("run_completed", payload=RunCompleted.success(labels={"a": "b"}).encode()), "end_labels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_wrong_end_is_corruption(meddled: Meddled, edit: Any, code: str) -> None:
    await complete(meddled.store)
    meddled.edits["run"] = edit
    with pytest.raises(CorruptRun) as refused:
        await ensure(meddled)
    assert refused.value.code == code
    assert meddled.repairs == 0


async def test_a_canceled_end_names_the_runs_reason(meddled: Meddled) -> None:
    await ensure(meddled, engine=Workflow(CANCELED), stream=Stream(Sink()))
    meddled.edits["run"] = changed("run_completed", payload=RunCompleted.canceled("other").encode())
    with pytest.raises(CorruptRun) as refused:
        await ensure(meddled)
    assert refused.value.code == "end_reason"


@pytest.mark.parametrize("payload", [b"{}", b'{"SuspensionID":"other"}'])
async def test_a_suspended_end_names_the_runs_checkpoint(meddled: Meddled, payload: bytes) -> None:
    await ensure(meddled, engine=Workflow(SUSPENDED), stream=Stream(Sink()))
    meddled.edits["run"] = changed("run_suspended", payload=payload)
    with pytest.raises(CorruptRun):
        await ensure(meddled)


async def test_a_running_run_with_an_end_is_corruption(meddled: Meddled) -> None:
    await complete(meddled.store)
    meddled.metas["run"] = lambda meta: replace(meta, status=RunStatus.RUNNING)
    with pytest.raises(CorruptRun) as refused:
        await ensure(meddled)
    assert refused.value.code == "end_of_running_run"


async def test_a_run_that_ends_while_it_is_looked_at_is_streamed(meddled: Meddled) -> None:
    await complete(meddled.store)
    seen = iter([RunStatus.RUNNING, RunStatus.RUNNING, RunStatus.COMPLETED])
    meddled.metas["run"] = lambda meta: replace(meta, status=next(seen))
    sink = Sink()
    assert await ensure(meddled, stream=Stream(sink)) is RunStatus.COMPLETED
    assert sink.types() == ["workflow", "run_stream_end"]


async def test_a_parent_that_is_not_stored_is_corruption(meddled: Meddled) -> None:
    meddled.metas["child"] = lambda meta: replace(meta, parent_run_id="gone")
    meddled.edits["child"] = changed("run_started", payload=b'{"parent_run_id":"gone"}')
    with pytest.raises(CorruptRun) as refused:
        await ensure(meddled, "child")
    assert refused.value.code == "parent_missing"


@pytest.mark.parametrize(
    ("completion", "code"),
    [
        (replace(COMPLETED, ended_at=None), "engine_time"),
        (replace(COMPLETED, ended_at=NOW.replace(tzinfo=None)), "engine_time"),
        (replace(COMPLETED, output=None), "engine_output"),
        (replace(COMPLETED, error=ValueError()), "engine_output"),
        (EngineCompletion(EngineStatus.FAILED, NOW), "engine_output"),
        (replace(CANCELED, output=EngineOutput()), "engine_output"),
        (EngineCompletion(EngineStatus.FAILED, NOW, error=Failure(kind="internal")), "engine_failure"),
        (
            replace(COMPLETED, output=EngineOutput(SuspensionOutput(RunSuspension("s", b"")))),
            "engine_suspension",
        ),
    ],
)
async def test_a_completion_that_cannot_be_is_corruption(
    meddled: Meddled, completion: EngineCompletion, code: str
) -> None:
    with pytest.raises(CorruptRun) as refused:
        await ensure(meddled, engine=Workflow(completion), stream=Stream(Sink()))
    assert refused.value.code == code
    assert meddled.repairs == 0


@pytest.mark.case("C382")
async def test_an_active_session_needs_a_stream(store: MemoryStore) -> None:
    with pytest.raises(InvalidCommand) as refused:
        await ensure(store)
    assert refused.value.code == "stream_required"
    sink = Sink()
    assert await ensure(store, stream=Stream(sink)) is RunStatus.COMPLETED
    assert sink.types() == ["workflow", "run_stream_end"]


@pytest.mark.case("C382")
@pytest.mark.parametrize("with_stream", [False, True])
async def test_an_ended_session_streams_nothing(store: MemoryStore, with_stream: bool) -> None:
    await store.end_session("session", NOW)
    sink = Sink()
    status = await ensure(store, "child", stream=Stream(sink) if with_stream else None)
    assert (status, sink.events) == (RunStatus.COMPLETED, [])


@pytest.mark.case("C382")
@pytest.mark.parametrize("with_stream", [False, True])
async def test_a_sessionless_run_streams_nothing(store: MemoryStore, with_stream: bool) -> None:
    await store.run("single", "agent", started_at=NOW).__aenter__()
    sink = Sink()
    status = await ensure(store, "single", stream=Stream(sink) if with_stream else None)
    assert (status, sink.events) == (RunStatus.COMPLETED, [])


async def test_a_start_that_was_stopped_is_no_corruption(store: MemoryStore) -> None:
    await store.end_session("session", NOW)
    await store.execute(root("stopped"))
    await store.execute(child("stopped-child"))
    assert await ensure(store, "stopped") is RunStatus.CANCELED
    assert await ensure(store, "stopped-child") is RunStatus.CANCELED


@pytest.mark.case("C383")
async def test_temporary_failures_are_tried_again_ever_more_slowly(meddled: Meddled) -> None:
    meddled.failures = {
        "load_run": [Unavailable("down")],
        "list_run_records": [Unavailable("down")] * 2,
        "repair": [Unavailable("down")] * 8,
    }
    pauses = Pauses()
    assert await ensure(meddled, stream=Stream(Sink()), pauses=pauses) is RunStatus.COMPLETED
    assert pauses.slept == [0.1, 0.1, 0.2, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


@pytest.mark.case("C383")
async def test_the_callers_time_out_ends_the_tries(meddled: Meddled) -> None:
    meddled.failures = {"repair": [Unavailable("down")] * 1_000_000}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await ensure_run_completion("run", store=meddled, engine=Workflow(), stream=Stream(Sink()))
    assert (await meddled.store.load_run("run")).status is RunStatus.RUNNING


@pytest.mark.case("C383")
async def test_a_contract_error_stops_at_once(meddled: Meddled) -> None:
    meddled.failures = {"repair": [ContractError("never")]}
    pauses = Pauses()
    with pytest.raises(ContractError):
        await ensure(meddled, stream=Stream(Sink()), pauses=pauses)
    assert (meddled.repairs, pauses.slept) == (1, [])
    with pytest.raises(RunNotFound):
        await ensure(meddled, "unknown")


async def test_a_failing_sink_is_tried_again_without_another_write(meddled: Meddled) -> None:
    sink, bus, pauses = Sink(Unavailable("down"), Unavailable("down")), Listener(), Pauses()
    await ensure(meddled, stream=Stream(sink), bus=bus, pauses=pauses)
    assert (meddled.repairs, len(bus.records), pauses.slept) == (1, 1, [0.1, 0.2])
    assert sink.types() == ["workflow", "run_stream_end"]


async def test_a_lost_answer_leaves_the_bus_silent(meddled: Meddled) -> None:
    meddled.failures = {"answer": [Unavailable("lost")]}
    sink, bus = Sink(), Listener()
    await ensure(meddled, stream=Stream(sink), bus=bus)
    assert (meddled.repairs, bus.records) == (2, [])
    assert sink.types() == ["workflow", "run_stream_end"]


async def test_a_failing_bus_is_logged_and_stops_nothing(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    sink = Sink()
    with caplog.at_level(logging.WARNING):
        await ensure(store, stream=Stream(sink), bus=Listener(ValueError("secret")))
    assert sink.types() == ["workflow", "run_stream_end"]
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_the_end_that_won_is_streamed(meddled: Meddled) -> None:
    meddled.before_repair = lambda: complete(meddled.store)
    sink, bus = Sink(), Listener()
    status = await ensure(
        meddled,
        engine=Workflow(EngineCompletion(EngineStatus.FAILED, NOW, error=ValueError("lost"))),
        stream=Stream(sink),
        bus=bus,
    )
    assert (status, bus.records) == (RunStatus.COMPLETED, [])
    assert [event.event_key for event in sink.events] == ["done", "done/run_stream_end"]


WROTE = AppendResult("2", True, SessionStatus.ACTIVE)
FOUND = AppendResult("2", False, SessionStatus.ACTIVE)


@pytest.mark.case("C385")
@pytest.mark.parametrize(
    ("result", "code"),
    [
        (RunRepairResult(RepairOutcome.STORED, RunStatus.COMPLETED, FOUND), "repair_inserted"),
        (RunRepairResult(RepairOutcome.ALREADY_STORED, RunStatus.COMPLETED, WROTE), "repair_inserted"),
        (RunRepairResult(RepairOutcome.STORED, RunStatus.FAILED, WROTE), "repair_status"),
        (RunRepairResult(RepairOutcome.STORED, RunStatus.COMPLETED), "repair_record"),
        (RunRepairResult(RepairOutcome.DIFFERENT_TERMINAL, RunStatus.FAILED, FOUND), "repair_winner"),
        (RunRepairResult(RepairOutcome.DIFFERENT_TERMINAL, RunStatus.RUNNING, NO_RECORD), "repair_winner"),
        (RunRepairResult(RepairOutcome.DIFFERENT_TERMINAL, RunStatus.FAILED, NO_RECORD), "repair_winner"),
    ],
)
async def test_an_answer_that_breaks_the_rules_is_an_error(
    meddled: Meddled, result: RunRepairResult, code: str
) -> None:
    meddled.repair = lambda _: result
    with pytest.raises(InvalidResult) as refused:
        await ensure(meddled, stream=Stream(Sink()))
    assert refused.value.code == code
    assert not refused.value.retryable


@pytest.mark.case("C385")
async def test_a_store_must_know_the_end_that_it_holds(meddled: Meddled) -> None:
    await complete(meddled.store)
    meddled.repair = lambda _: RunRepairResult(RepairOutcome.DIFFERENT_TERMINAL, RunStatus.FAILED)
    with pytest.raises(InvalidResult) as refused:
        await ensure(meddled, stream=Stream(Sink()))
    assert refused.value.code == "repair_replay"


@pytest.mark.parametrize("status", [SessionStatus.NONE, "gone"])
async def test_a_session_status_that_cannot_be_is_an_error(meddled: Meddled, status: Any) -> None:
    meddled.repair = lambda result: replace(result, record=replace(result.record, session_status=status))
    with pytest.raises(InvalidResult) as refused:
        await ensure(meddled, stream=Stream(Sink()))
    assert refused.value.code == "session_status"
