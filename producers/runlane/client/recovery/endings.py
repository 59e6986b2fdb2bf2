"""From what an engine says to the record that ends the run (contract 10)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from runlane.client.recovery.ports import EngineCompletion, EngineStatus, SuspensionOutput
from runlane.client.run_values import failure_of
from runlane.contract.errors import CorruptRun
from runlane.contract.payloads import RUN_COMPLETED, RUN_SUSPENDED, Failure, RunCompleted, RunSuspended
from runlane.contract.times import time_fault, to_utc
from runlane.contract.values import RunMeta, RunRecord, RunStatus, RunSuspension


@dataclass(frozen=True, slots=True)
class Ending:
    """A state to make sure of: its status, its record, and the checkpoint of a suspension."""

    status: RunStatus
    record: RunRecord
    checkpoint: RunSuspension | None = None


def ending_of(meta: RunMeta, completion: EngineCompletion) -> Ending:
    """Return the end of a run as its engine tells it; ``CorruptRun`` for a completion that can't be.

    The record's key is its type, its time the engine's in whole milliseconds, so that every process that
    recovers the run writes the same record. A canceled run has the stored reason, else ``engine_canceled``.
    """
    ended_at = _check(completion)
    if completion.output is not None and completion.output.suspension is not None:
        return _suspended(meta, completion.output.suspension, ended_at)
    status, payload = _completed(meta, completion)
    return Ending(status, _record(meta, RUN_COMPLETED, payload.encode(), ended_at))


def _check(completion: EngineCompletion) -> datetime:
    """Return the time of a completion that holds what its status says."""
    ended_at = completion.ended_at
    if ended_at is None or time_fault(ended_at):
        raise CorruptRun("the engine gives no usable time of the end", code="engine_time")
    expected = completion.status is EngineStatus.COMPLETED
    if (completion.output is not None) is not expected or (completion.error is None) is not expected:
        raise CorruptRun("the engine's output or error does not fit its status", code="engine_output")
    utc = to_utc(ended_at)
    return utc.replace(microsecond=utc.microsecond // 1_000 * 1_000)


def _completed(meta: RunMeta, completion: EngineCompletion) -> tuple[RunStatus, RunCompleted]:
    if completion.status is EngineStatus.COMPLETED:
        return RunStatus.COMPLETED, RunCompleted.success(labels=meta.labels)
    if completion.status is EngineStatus.CANCELED:
        reason = meta.cancellation_reason
        return RunStatus.CANCELED, RunCompleted.canceled(reason, labels=meta.labels)
    error = completion.error
    assert error is not None, "it was checked"
    failure = error if isinstance(error, Failure) else failure_of(error)
    if completion.status is EngineStatus.TIMED_OUT:
        failure = failure.model_copy(update={"kind": "timeout"})
    if not failure.message or not failure.kind:
        raise CorruptRun("the engine's failure has no message or kind", code="engine_failure")
    return RunStatus.FAILED, RunCompleted.failed(failure, labels=meta.labels)


def _suspended(meta: RunMeta, output: SuspensionOutput, ended_at: datetime) -> Ending:
    checkpoint = output.checkpoint
    if not checkpoint.id or not checkpoint.data:
        raise CorruptRun("the engine's suspension has no id or no data", code="engine_suspension")
    payload = RunSuspended(
        suspension_id=checkpoint.id,
        version=output.version,
        pending_count=output.pending_count,
        required_tools=output.required_tools,
    )
    record = _record(meta, RUN_SUSPENDED, payload.encode(), ended_at)
    return Ending(RunStatus.SUSPENDED, record, checkpoint)


def _record(meta: RunMeta, record_type: str, payload: bytes, ended_at: datetime) -> RunRecord:
    return RunRecord(
        event_key=record_type,
        run_id=meta.run_id,
        agent_id=meta.agent_id,
        session_id=meta.session_id,
        type=record_type,
        payload=payload,
        timestamp=ended_at,
    )
