"""Rules of the commands on a run, without state and against the stored run (contract 2.6 to 2.10)."""

from __future__ import annotations

from typing import Final

from runlane.contract.commands import (
    AppendRunRecord,
    EnsureRunSuspension,
    EnsureRunTerminal,
    RecordRunCancellation,
    RecordRunSuspension,
    RecordRunTerminal,
)
from runlane.contract.errors import RunRecordOwnerMismatch
from runlane.contract.ids import check_id, id_fault
from runlane.contract.limits import MAX_REASON_BYTES
from runlane.contract.payloads import (
    CANCELLATION_INTENT,
    ENGINE_CANCELED_REASON,
    LIFECYCLE_TYPES,
    RUN_COMPLETED,
    RUN_SUSPENDED,
    TRANSCRIPT_TYPES,
    decode_cancellation_intent,
    decode_run_completed,
    decode_run_suspended,
)
from runlane.contract.state import RunState
from runlane.contract.validate.envelope import (
    check_json,
    check_present_id,
    check_record_ids,
    check_size,
    check_text,
    fail,
    validate_record,
)
from runlane.contract.validate.transcripts import check_transcript
from runlane.contract.values import RunRecord, RunStatus, RunSuspension

_PAYLOAD_STATUS: Final = {
    RunStatus.COMPLETED: "success",
    RunStatus.FAILED: "failed",
    RunStatus.CANCELED: "canceled",
}


def validate_append(command: AppendRunRecord) -> RunRecord:
    """Check an append whole: none of its rules needs state; return its record."""
    record = validate_record(command.record)
    if record.type in LIFECYCLE_TYPES:
        raise fail("lifecycle_type", "a lifecycle record is written by its own operation only")
    if command.after_key and (fault := id_fault(command.after_key)):
        raise fail(fault, "after key: an identifier breaks a rule")
    check_size(record)
    if record.type in TRANSCRIPT_TYPES:
        check_transcript(record.payload)
    else:
        check_json(record.payload)
    return record


def check_before_lookup(
    run_id: str, record: RunRecord | None, suspension: RunSuspension | None = None
) -> None:
    """Check what may be refused before the run is looked up: routing, identifiers and size.

    Everything else comes after, since an unknown run is reported first (contract 2.7 to 2.10; C160).
    """
    check_present_id(run_id, "run_id")
    if record is not None:
        check_record_ids(record, "record")
    check_size(record, data=suspension.data if suspension is not None else b"")


def validate_cancellation(command: RecordRunCancellation, run: RunState) -> RunRecord:
    """Check a cancellation against its stored run (contract 2.7 step 2); return its record."""
    if not command.reason:
        raise fail("reason_required", "reason is required")
    check_text(command.reason, "reason", MAX_REASON_BYTES)
    record = validate_record(command.record)
    _check_owner(record, run)
    if record.type != CANCELLATION_INTENT:
        raise fail("record_type_mismatch", f"type is not {CANCELLATION_INTENT}")
    if decode_cancellation_intent(record.payload).reason != command.reason:
        raise fail("reason_mismatch", "payload names another reason")
    return record


def validate_suspension(command: RecordRunSuspension | EnsureRunSuspension, run: RunState) -> RunRecord:
    """Check a suspension against its stored run (contract 2.8 step 2); return its record."""
    suspension = command.suspension
    if not suspension.id:
        raise fail("suspension_id_required", "suspension id is required")
    check_id(suspension.id, "suspension id")
    if not suspension.data:
        raise fail("suspension_data_required", "suspension data is required")
    record = validate_record(command.record)
    if record.type != RUN_SUSPENDED:
        raise fail("record_type_mismatch", f"type is not {RUN_SUSPENDED}")
    payload = decode_run_suspended(record.payload)
    _check_owner(record, run)
    if payload.suspension_id != suspension.id:
        raise fail("suspension_id_mismatch", "payload names another suspension")
    return record


def validate_terminal(
    command: RecordRunTerminal | EnsureRunTerminal, run: RunState
) -> tuple[RunStatus, RunRecord]:
    """Check a terminal state against its stored run (contract 2.9 step 2); return status and record."""
    status = next((known for known in _PAYLOAD_STATUS if known == command.status), None)
    if status is None:
        raise fail("status_not_terminal", "status is not completed, failed or canceled")
    record = validate_record(command.record)
    if record.type != RUN_COMPLETED:
        raise fail("record_type_mismatch", f"type is not {RUN_COMPLETED}")
    payload = decode_run_completed(record.payload)
    _check_owner(record, run)
    if payload.status != _PAYLOAD_STATUS[status] or payload.phase != status:
        raise fail("status_mismatch", "payload status or phase is not the command's")
    if payload.labels != dict(run.labels):
        raise fail("labels_mismatch", "payload labels are not the run's")
    if payload.cancellation is not None:
        expected = run.cancellation_reason or ENGINE_CANCELED_REASON
        if payload.cancellation.reason != expected:
            raise fail("reason_mismatch", "payload names another reason than the run's")
    return status, record


def _check_owner(record: RunRecord, run: RunState) -> None:
    if (record.run_id, record.agent_id, record.session_id) != (run.run_id, run.agent_id, run.session_id):
        raise RunRecordOwnerMismatch("record names another run, agent or session than the stored run")
