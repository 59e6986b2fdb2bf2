"""The two starts of a session-backed run, and the continuation checks (contract 2.3 and 4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from runlane.contract.commands import StartChildRun, StartRootRun
from runlane.contract.decide.claims import check_receipt
from runlane.contract.decide.decision import Decision, Meta
from runlane.contract.decide.identity import new_run, same_start
from runlane.contract.decide.owners import check_append
from runlane.contract.decide.step import Step
from runlane.contract.errors import (
    PredecessorNotFound,
    RunConflict,
    RunNotActive,
    RunNotFound,
    SessionNotFound,
    SessionPurged,
    WrongLane,
)
from runlane.contract.ids import session_lane
from runlane.contract.outcomes import NO_RECORD, AppendResult, ChildRunStartResult, RootRunStartResult
from runlane.contract.state import LaneView, RunState
from runlane.contract.validate.envelope import fail
from runlane.contract.validate.starts import validate_child_start, validate_root_start
from runlane.contract.values import RunRecord, RunStart, RunStatus, SessionStatus, StartOutcome


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a valid start; ``link`` is None for a root run."""

    link: RunRecord | None
    started: RunRecord
    canceled: RunRecord


def start_root(view: LaneView, command: StartRootRun, meta: Meta) -> Decision:
    """Start a root run: proceed in an active session, stop in an ended one."""
    started, canceled = validate_root_start(command)
    return _start(view, command, _Records(None, started, canceled), meta)


def start_child(view: LaneView, command: StartChildRun, meta: Meta) -> Decision:
    """Start a child run and link it on its running parent."""
    link, started, canceled = validate_child_start(command)
    return _start(view, command, _Records(link, started, canceled), meta)


def _start(view: LaneView, command: StartRootRun | StartChildRun, records: _Records, meta: Meta) -> Decision:
    run = command.run
    _check_lane(view, run)
    check_receipt(view, command.receipt, run.run_id, meta)
    _check_session_not_purged(view)
    _check_predecessor(view, run)
    parent = _check_link(view, records.link) if records.link is not None else None
    step = Step(view, meta)
    stored = view.run(run.run_id)
    if stored is not None:
        return _retried(step, stored, run, records)
    if view.session is None:
        raise SessionNotFound("the session is unknown")
    if parent is not None and parent.status.terminal:
        raise RunNotActive("the parent has stopped")
    return _started(step, run, records, meta.now)


def _check_lane(view: LaneView, run: RunStart) -> None:
    home = session_lane(run.session_id)
    if view.lane != home:
        raise WrongLane("the session lives in another lane", lane=home)


def _check_session_not_purged(view: LaneView) -> None:
    if view.session is not None and view.session.purged:
        raise SessionPurged("the session was purged")


def _check_predecessor(view: LaneView, run: RunStart) -> None:
    """Check a continuation, before any write and before the retry look-up (contract 4).

    A predecessor of another session is unknown in this lane (contract 0; C211).
    """
    if not run.predecessor_run_id:
        return
    predecessor = view.run(run.predecessor_run_id)
    if predecessor is None:
        raise PredecessorNotFound("the predecessor is unknown in this session")
    if predecessor.status is not RunStatus.SUSPENDED:
        raise fail("predecessor_not_suspended", "the predecessor is not suspended")
    if predecessor.agent_id != run.agent_id:
        raise fail("predecessor_agent_mismatch", "the predecessor belongs to another agent")
    if predecessor.parent_run_id != run.parent_run_id:
        raise fail("predecessor_parent_mismatch", "the predecessor has another parent")


def _check_link(view: LaneView, link: RunRecord) -> RunState:
    """Check the link as an append to the parent, before the retry look-up (contract 2.3 step 3).

    Returns the parent, which belongs to the lane's session as every run of an ``s/`` lane does.
    """
    parent = view.run(link.run_id)
    if parent is None:
        raise RunNotFound("the parent run is unknown in this session")
    check_append(view, parent, link)
    return parent


def _retried(step: Step, stored: RunState, run: RunStart, records: _Records) -> Decision:
    """Answer the start of a stored run: the original decision, or the conflict (contract 2.3 step 4)."""
    link, started, canceled = records.link, records.started, records.canceled
    stopped = stored.start_outcome is StartOutcome.STOP
    same_keys = (
        started.event_key == stored.start_key
        and (link is None or link.event_key == stored.link_key)
        and (not stopped or canceled.event_key == stored.terminal_key)
    )
    if not same_keys or not same_start(stored, run):
        raise RunConflict("the run was started with another identity or other record keys")
    linked = step.compare(link) if link is not None else None
    first = step.compare(started)
    last = step.compare(canceled) if stopped else NO_RECORD
    return Decision(_result(stored.start_outcome, linked, first, last), None)


def _started(step: Step, run: RunStart, records: _Records, now: datetime) -> Decision:
    """Write a new run, with its cancellation in an ended session (contract 2.3 steps 7 and 8)."""
    canceled = records.canceled if step.status is SessionStatus.ENDED else None
    outcome = StartOutcome.PROCEED if canceled is None else StartOutcome.STOP
    linked = step.put(records.link) if records.link is not None else None
    first = step.put(records.started)
    last = step.put(canceled) if canceled is not None else NO_RECORD
    state = new_run(run, now, records.started, link=records.link, canceled=canceled)
    return Decision(_result(outcome, linked, first, last), None, step.changes(state))


def _result(
    outcome: StartOutcome, linked: AppendResult | None, started: AppendResult, canceled: AppendResult
) -> RootRunStartResult | ChildRunStartResult:
    if linked is None:
        return RootRunStartResult(outcome, started, canceled)
    return ChildRunStartResult(outcome, linked, started, canceled)
