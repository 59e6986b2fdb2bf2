"""The two starts of a sessionless run (contract 2.4 and 2.5)."""

from __future__ import annotations

from runlane.contract.commands import StartOneShotChildRun, StartOneShotRun
from runlane.contract.decide.claims import check_receipt, find_claim
from runlane.contract.decide.decision import Decision, Meta
from runlane.contract.decide.identity import new_run, same_start
from runlane.contract.decide.owners import check_append, check_claimed_here
from runlane.contract.decide.step import Step
from runlane.contract.errors import (
    RunConflict,
    RunNotActive,
    RunNotFound,
    RunSessionMismatch,
    WrongLane,
)
from runlane.contract.ids import run_lane
from runlane.contract.outcomes import OneShotChildRunStartResult, OneShotRunStartResult
from runlane.contract.state import LaneView, RunClaim, RunState
from runlane.contract.validate.starts import validate_one_shot_child_start, validate_one_shot_start
from runlane.contract.values import RunRecord, RunStart, StartOutcome


def start_one_shot(view: LaneView, command: StartOneShotRun, meta: Meta) -> Decision:
    """Claim and start a sessionless root run in its own lane."""
    started = validate_one_shot_start(command)
    run = command.run
    home = run_lane(run.run_id)
    if view.lane != home:
        raise WrongLane("the sessionless run lives in its own lane", lane=home)
    claim = find_claim(view, run.run_id, view.lane)
    step = Step(view, meta)
    stored = view.run(run.run_id)
    if stored is not None:
        _check_same(stored, run, started, None)
        return Decision(OneShotRunStartResult(step.compare(started)), None)
    result = OneShotRunStartResult(step.put(started))
    claimed = RunClaim(run.run_id, view.lane, meta.block) if claim is None else None
    return Decision(result, None, step.changes(new_run(run, meta.now, started), claim=claimed))


def start_one_shot_child(view: LaneView, command: StartOneShotChildRun, meta: Meta) -> Decision:
    """Start a sessionless child in its parent's lane."""
    link, started = validate_one_shot_child_start(command)
    run = command.run
    check_claimed_here(view, run.parent_run_id)
    check_receipt(view, command.receipt, run.run_id, meta)
    step = Step(view, meta)
    stored = view.run(run.run_id)
    if stored is not None:
        _check_same(stored, run, started, link)
        result = OneShotChildRunStartResult(step.compare(link), step.compare(started))
        return Decision(result, None)
    _check_parent(view, link)
    result = OneShotChildRunStartResult(step.put(link), step.put(started))
    return Decision(result, None, step.changes(new_run(run, meta.now, started, link=link)))


def _check_same(stored: RunState, run: RunStart, started: RunRecord, link: RunRecord | None) -> None:
    same = (
        same_start(stored, run)
        and stored.start_outcome is StartOutcome.PROCEED
        and stored.start_key == started.event_key
        and stored.link_key == (link.event_key if link is not None else "")
    )
    if not same:
        raise RunConflict("the run was started with another identity or other record keys")


def _check_parent(view: LaneView, link: RunRecord) -> None:
    """Check the parent of a new sessionless child in the contract's order (2.5)."""
    parent = view.run(link.run_id)
    if parent is None:
        raise RunNotFound("the parent run is unknown")
    if parent.session_id:
        raise RunSessionMismatch("the parent belongs to a session")
    if parent.status.terminal:
        raise RunNotActive("the parent has stopped")
    check_append(view, parent, link)
