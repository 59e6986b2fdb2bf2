"""Making sure that a run has stopped, and saying which state won (contract 2.10)."""

from __future__ import annotations

from runlane.contract.commands import EnsureRunSuspension, EnsureRunTerminal
from runlane.contract.decide.decision import Decision, Meta
from runlane.contract.decide.owners import check_append, find_run
from runlane.contract.decide.runs import ended, same_checkpoint, suspended
from runlane.contract.decide.step import Step
from runlane.contract.digest import record_digest
from runlane.contract.outcomes import RepairOutcome, RunRepairResult
from runlane.contract.state import KeyEntry, LaneView, RunState
from runlane.contract.validate.runs import check_before_lookup, validate_suspension, validate_terminal
from runlane.contract.values import RunRecord, RunStatus


def ensure_terminal(view: LaneView, command: EnsureRunTerminal, meta: Meta) -> Decision:
    """End a running run, or say what ended it."""
    check_before_lookup(command.run_id, command.record)
    run = find_run(view, command.run_id)
    status, record = validate_terminal(command, run)
    step = Step(view, meta)
    if run.status.terminal:
        return Decision(_winner(step, run, _identical(view, run, record)), None)
    digest, _ = check_append(view, run, record)
    result = RunRepairResult(RepairOutcome.STORED, status, step.append(record, digest))
    return Decision(result, None, ended(step, run, record, status, meta))


def ensure_suspension(view: LaneView, command: EnsureRunSuspension, meta: Meta) -> Decision:
    """Suspend a running run, or say what stopped it."""
    check_before_lookup(command.run_id, command.record, command.suspension)
    run = find_run(view, command.run_id)
    record = validate_suspension(command, run)
    step = Step(view, meta)
    if run.status.terminal:
        entry = _identical(view, run, record) if same_checkpoint(run, command.suspension) else None
        return Decision(_winner(step, run, entry), None)
    digest, _ = check_append(view, run, record)
    result = RunRepairResult(RepairOutcome.STORED, RunStatus.SUSPENDED, step.append(record, digest))
    return Decision(result, None, suspended(step, run, record, command.suspension, meta))


def _identical(view: LaneView, run: RunState, record: RunRecord) -> KeyEntry | None:
    """Return the entry of the record that stopped the run when ``record`` is the same.

    The same record says the same terminal state, so that needs no look of its own.
    """
    if record.event_key != run.terminal_key:
        return None
    entry = view.key(record.run_id, record.event_key)
    return entry if entry is not None and entry.digest == record_digest(record) else None


def _winner(step: Step, run: RunState, entry: KeyEntry | None) -> RunRepairResult:
    if entry is None:
        return RunRepairResult(RepairOutcome.DIFFERENT_TERMINAL, run.status)
    return RunRepairResult(RepairOutcome.ALREADY_STORED, run.status, step.found(entry))
