"""What a store may answer; anything else is ``InvalidResult`` (contract 10)."""

from __future__ import annotations

from collections.abc import Sequence

from runlane.contract.errors import InvalidResult
from runlane.contract.outcomes import NO_RECORD, AppendResult, RepairOutcome, RunRepairResult
from runlane.contract.values import RunStatus, SessionStatus, StartOutcome


def check_repair(result: RunRepairResult, expected: RunStatus) -> None:
    """Check the answer of an ``ensure_*`` operation that asked for ``expected`` (C385)."""
    if result.outcome is RepairOutcome.DIFFERENT_TERMINAL:
        if not result.status.terminal or result.record != NO_RECORD:
            raise InvalidResult(
                "another end won, but the answer names none, or a record", code="repair_winner"
            )
        return
    if result.status is not expected:
        raise InvalidResult("the answer has another status than was asked for", code="repair_status")
    if not result.record.id:
        raise InvalidResult("the answer names no record", code="repair_record")
    if result.record.inserted is not (result.outcome is RepairOutcome.STORED):
        raise InvalidResult("the answer says stored without a write, or the reverse", code="repair_inserted")


def check_start(outcome: StartOutcome, records: Sequence[AppendResult], *, one_shot: bool) -> None:
    """Check the records of one start: one session status that its outcome allows (C388)."""
    status, *others = {record.session_status for record in records}
    if others:
        raise InvalidResult("the records of one start differ in session status", code="start_statuses")
    if one_shot:
        allowed = status is SessionStatus.NONE
    elif outcome is StartOutcome.STOP:
        allowed = status is SessionStatus.ENDED
    else:
        repeated = not any(record.inserted for record in records)
        allowed = status is SessionStatus.ACTIVE or (status is SessionStatus.ENDED and repeated)
    if not allowed:
        raise InvalidResult("the session status does not fit the start's outcome", code="start_status")
