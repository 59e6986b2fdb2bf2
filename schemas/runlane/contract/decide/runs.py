"""Commands on a stored run: append, cancellation, suspension, terminal (contract 2.6 to 2.9)."""

from __future__ import annotations

from dataclasses import replace

from runlane.contract.commands import (
    AppendRunRecord,
    RecordRunCancellation,
    RecordRunSuspension,
    RecordRunTerminal,
)
from runlane.contract.decide.decision import Decision, Meta
from runlane.contract.decide.owners import check_append, find_run
from runlane.contract.decide.step import Step
from runlane.contract.digest import checkpoint_digest
from runlane.contract.errors import (
    OutOfOrder,
    RunCancellationConflict,
    RunNotActive,
    RunSuspensionConflict,
    RunTerminalConflict,
)
from runlane.contract.state import Changes, Checkpoint, LaneView, RunState
from runlane.contract.validate.runs import (
    check_before_lookup,
    validate_append,
    validate_cancellation,
    validate_suspension,
    validate_terminal,
)
from runlane.contract.values import RunRecord, RunStatus, RunSuspension


def append(view: LaneView, command: AppendRunRecord, meta: Meta) -> Decision:
    """Append an ordinary record (contract 2.6)."""
    record = validate_append(command)
    run = find_run(view, record.run_id)
    digest, entry = check_append(view, run, record)
    step = Step(view, meta)
    if entry is not None:
        return Decision(step.found(entry), None)
    if run.status.terminal:
        raise RunNotActive("the run accepts no new record")
    if command.after_key and view.key(record.run_id, command.after_key) is None:
        raise OutOfOrder("the event key that the record follows is not stored yet")
    return Decision(step.append(record, digest), None, step.changes())


def cancel(view: LaneView, command: RecordRunCancellation, meta: Meta) -> Decision:
    """Record a cancellation's reason (contract 2.7)."""
    check_before_lookup(command.run_id, command.record)
    run = find_run(view, command.run_id)
    record = validate_cancellation(command, run)
    if run.cancellation_reason and run.cancellation_reason != command.reason:
        raise RunCancellationConflict("the run has another cancellation reason")
    digest, entry = check_append(view, run, record)
    if not run.cancellation_key and run.status.terminal:
        raise RunNotActive("the run has stopped")
    if run.cancellation_key and run.cancellation_key != record.event_key:
        raise RunCancellationConflict("the run has another cancellation record")
    step = Step(view, meta)
    if entry is not None:
        return Decision(step.found(entry), None)
    result = step.append(record, digest)
    changed = replace(
        run,
        cancellation_reason=command.reason,
        cancellation_key=record.event_key,
        updated_at=meta.now,
    )
    return Decision(result, None, step.changes(changed))


def suspend(view: LaneView, command: RecordRunSuspension, meta: Meta) -> Decision:
    """Store a checkpoint and suspend the run (contract 2.8)."""
    check_before_lookup(command.run_id, command.record, command.suspension)
    run = find_run(view, command.run_id)
    record = validate_suspension(command, run)
    if run.status.terminal and run.status is not RunStatus.SUSPENDED:
        raise RunTerminalConflict("the run has ended")
    if run.suspension_key and not same_checkpoint(run, command.suspension):
        raise RunSuspensionConflict("the run has another checkpoint")
    digest, entry = check_append(view, run, record)
    if run.suspension_key and run.suspension_key != record.event_key:
        raise RunSuspensionConflict("the run has another suspension record")
    step = Step(view, meta)
    if entry is not None:
        return Decision(step.found(entry), None)
    result = step.append(record, digest)
    return Decision(result, None, suspended(step, run, record, command.suspension, meta))


def end(view: LaneView, command: RecordRunTerminal, meta: Meta) -> Decision:
    """End the run as completed, failed or canceled (contract 2.9)."""
    check_before_lookup(command.run_id, command.record)
    run = find_run(view, command.run_id)
    status, record = validate_terminal(command, run)
    if run.status.terminal and run.status is not status:
        raise RunTerminalConflict("the run has another terminal state")
    digest, entry = check_append(view, run, record)
    if run.terminal_key and run.terminal_key != record.event_key:
        raise RunTerminalConflict("the run has another terminal record")
    step = Step(view, meta)
    if entry is not None:
        return Decision(step.found(entry), None)
    result = step.append(record, digest)
    return Decision(result, None, ended(step, run, record, status, meta))


def same_checkpoint(run: RunState, suspension: RunSuspension) -> bool:
    """Whether the stored checkpoint has the same id and bytes."""
    return run.suspension_id == suspension.id and run.checkpoint_digest == checkpoint_digest(suspension.data)


def suspended(step: Step, run: RunState, record: RunRecord, suspension: RunSuspension, meta: Meta) -> Changes:
    """Return the changes that suspend ``run``; its record is in ``step`` already."""
    changed = replace(
        run,
        status=RunStatus.SUSPENDED,
        updated_at=meta.now,
        suspension_key=record.event_key,
        terminal_key=record.event_key,
        suspension_id=suspension.id,
        checkpoint_digest=checkpoint_digest(suspension.data),
    )
    kept = RunSuspension(suspension.id, bytes(suspension.data))
    return step.changes(changed, checkpoint=Checkpoint(run.run_id, kept))


def ended(step: Step, run: RunState, record: RunRecord, status: RunStatus, meta: Meta) -> Changes:
    """Return the changes that end ``run``; its record is in ``step`` already."""
    return step.changes(replace(run, status=status, updated_at=meta.now, terminal_key=record.event_key))
