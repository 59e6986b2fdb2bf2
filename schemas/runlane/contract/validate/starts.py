"""Rules of the four starts that need no state, in the contract's order (contract 1.4 and 2.2)."""

from __future__ import annotations

from collections.abc import Mapping

from runlane.contract.commands import StartChildRun, StartOneShotChildRun, StartOneShotRun, StartRootRun
from runlane.contract.errors import (
    ChildAgentIDRequired,
    ChildRunIDRequired,
    ChildSessionIDRequired,
    ParentRunIDRequired,
    RunRecordOwnerMismatch,
)
from runlane.contract.ids import check_id
from runlane.contract.payloads import (
    CHILD_RUN_LINKED,
    RUN_COMPLETED,
    RUN_STARTED,
    SESSION_ENDED_REASON,
    decode_child_run_linked,
    decode_run_completed,
    decode_run_started,
)
from runlane.contract.times import micros
from runlane.contract.validate.envelope import (
    check_labels,
    check_size,
    check_timestamp,
    fail,
    validate_record,
)
from runlane.contract.values import RunRecord, RunStart


def validate_root_start(command: StartRootRun) -> tuple[RunRecord, RunRecord]:
    """Check a session-backed root start; return its started and canceled records."""
    run = command.run
    if not run.run_id:
        raise fail("run_id_required", "run id is required")
    if not run.agent_id:
        raise fail("agent_id_required", "agent id is required")
    if not run.session_id:
        raise fail("session_id_required", "session id is required")
    if run.parent_run_id:
        raise fail("parent_run_id_forbidden", "a root run has no parent run id")
    _check_rest(run)
    check_size(command.started, command.canceled)
    started = _check_started(run, command.started)
    return started, _check_canceled(run, command.canceled, started)


def validate_child_start(command: StartChildRun) -> tuple[RunRecord, RunRecord, RunRecord]:
    """Check a session-backed child start; return its link, started and canceled records."""
    run = command.run
    if not run.run_id:
        raise ChildRunIDRequired("child run id is required")
    if not run.agent_id:
        raise ChildAgentIDRequired("child agent id is required")
    if not run.session_id:
        raise ChildSessionIDRequired("child session id is required")
    if not run.parent_run_id:
        raise ParentRunIDRequired("parent run id is required")
    _check_rest(run)
    check_size(command.parent_linked, command.started, command.canceled)
    link = _check_link(run, command.parent_linked)
    started = _check_started(run, command.started)
    return link, started, _check_canceled(run, command.canceled, started)


def validate_one_shot_start(command: StartOneShotRun) -> RunRecord:
    """Check a sessionless root start; return its started record."""
    run = command.run
    if not run.run_id:
        raise fail("run_id_required", "run id is required")
    if not run.agent_id:
        raise fail("agent_id_required", "agent id is required")
    _check_sessionless(run)
    if run.parent_run_id:
        raise fail("parent_run_id_forbidden", "a root run has no parent run id")
    _check_no_predecessor(run)
    _check_rest(run)
    check_size(command.started)
    return _check_started(run, command.started)


def validate_one_shot_child_start(command: StartOneShotChildRun) -> tuple[RunRecord, RunRecord]:
    """Check a sessionless child start, whose records share no event key (C043); return link and started."""
    run = command.run
    if not run.run_id:
        raise ChildRunIDRequired("child run id is required")
    if not run.agent_id:
        raise ChildAgentIDRequired("child agent id is required")
    _check_sessionless(run)
    if not run.parent_run_id:
        raise ParentRunIDRequired("parent run id is required")
    _check_no_predecessor(run)
    _check_rest(run)
    check_size(command.parent_linked, command.started)
    link = _check_link(run, command.parent_linked)
    started = _check_started(run, command.started)
    if link.event_key == started.event_key:
        raise fail("event_keys_equal", "link and start record share an event key")
    return link, started


def _check_sessionless(run: RunStart) -> None:
    if run.session_id:
        raise fail("session_id_forbidden", "a sessionless run has no session id")


def _check_no_predecessor(run: RunStart) -> None:
    if run.predecessor_run_id:
        raise fail("predecessor_run_id_forbidden", "a sessionless run has no predecessor")


def _check_rest(run: RunStart) -> None:
    """Check predecessor and time, then identifiers and labels."""
    if run.predecessor_run_id and run.predecessor_run_id == run.run_id:
        raise fail("predecessor_is_self", "a run can't be its own predecessor")
    check_timestamp(run.started_at, "started at")
    check_id(run.run_id, "run id")
    check_id(run.agent_id, "agent id")
    check_id(run.session_id, "session id")
    check_id(run.parent_run_id, "parent run id")
    check_id(run.predecessor_run_id, "predecessor run id")
    check_labels(run.labels)


def _check_started(run: RunStart, record: RunRecord | None) -> RunRecord:
    started = validate_record(record, "started")
    if started.type != RUN_STARTED:
        raise fail("record_type_mismatch", f"started: type is not {RUN_STARTED}")
    payload = decode_run_started(started.payload)
    _check_owner(run, started)
    _check_start_time(run, started, "started")
    if payload.parent_run_id != run.parent_run_id:
        raise fail("parent_run_id_mismatch", "started: payload names another parent run")
    if payload.predecessor_run_id != run.predecessor_run_id:
        raise fail("predecessor_run_id_mismatch", "started: payload names another predecessor")
    _check_same_labels(run, payload.labels, "started")
    return started


def _check_canceled(run: RunStart, record: RunRecord | None, started: RunRecord) -> RunRecord:
    canceled = validate_record(record, "canceled")
    if canceled.type != RUN_COMPLETED:
        raise fail("record_type_mismatch", f"canceled: type is not {RUN_COMPLETED}")
    payload = decode_run_completed(canceled.payload)
    _check_owner(run, canceled)
    _check_start_time(run, canceled, "canceled")
    if payload.status != "canceled" or payload.phase != "canceled" or payload.cancellation is None:
        raise fail("status_mismatch", "canceled: payload is not a canceled completion")
    if payload.cancellation.reason != SESSION_ENDED_REASON:
        raise fail("reason_mismatch", f"canceled: reason is not {SESSION_ENDED_REASON}")
    _check_same_labels(run, payload.labels, "canceled")
    if started.event_key == canceled.event_key:
        raise fail("event_keys_equal", "start and canceled record share an event key")
    return canceled


def _check_link(run: RunStart, record: RunRecord | None) -> RunRecord:
    link = validate_record(record, "parent_linked")
    if link.type != CHILD_RUN_LINKED:
        raise fail("record_type_mismatch", f"parent_linked: type is not {CHILD_RUN_LINKED}")
    payload = decode_child_run_linked(link.payload)
    if link.run_id != run.parent_run_id:
        raise fail("parent_run_id_mismatch", "parent_linked: record is not the parent run's")
    if link.session_id != run.session_id:
        raise fail("session_id_mismatch", "parent_linked: record is not of the child's session")
    if payload.child_run_id != run.run_id or payload.child_agent_id != run.agent_id:
        raise fail("child_mismatch", "parent_linked: payload names another child")
    check_id(payload.tool_call_id, "tool call id")
    return link


def _check_owner(run: RunStart, record: RunRecord) -> None:
    if (record.run_id, record.agent_id, record.session_id) != (run.run_id, run.agent_id, run.session_id):
        raise RunRecordOwnerMismatch("record names another run, agent or session than the start")


def _check_start_time(run: RunStart, record: RunRecord, name: str) -> None:
    assert run.started_at is not None, "it was checked"
    assert record.timestamp is not None, "it was checked"
    if micros(record.timestamp) != micros(run.started_at):
        raise fail("timestamp_mismatch", f"{name}: timestamp is not the start's")


def _check_same_labels(run: RunStart, labels: Mapping[str, str], name: str) -> None:
    if labels != dict(run.labels):
        raise fail("labels_mismatch", f"{name}: payload labels are not the start's")
