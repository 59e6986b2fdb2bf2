"""The rules of every command that need no state, in one function for the client and one for all of them."""

from __future__ import annotations

from typing import assert_never

from runlane.contract.commands import (
    AppendRunRecord,
    ClaimRun,
    Command,
    CreateSession,
    EndSession,
    EnsureRunSuspension,
    EnsureRunTerminal,
    PurgeSession,
    RecordRunCancellation,
    RecordRunSuspension,
    RecordRunTerminal,
    StartChildRun,
    StartOneShotChildRun,
    StartOneShotRun,
    StartRootRun,
)
from runlane.contract.ids import lane_fault
from runlane.contract.validate.envelope import check_instant, check_present_id, fail
from runlane.contract.validate.runs import check_before_lookup, validate_append
from runlane.contract.validate.starts import (
    validate_child_start,
    validate_one_shot_child_start,
    validate_one_shot_start,
    validate_root_start,
)
from runlane.contract.validate.types import check_types


def validate_before_send(command: Command) -> None:
    """Check what is refused whatever the state: the client may refuse it without asking the owner.

    Raises ``InvalidCommand`` or ``RunRecordOwnerMismatch``. For a command on a run these are only identifiers
    and sizes, because an unknown run is reported before its other rules (contract 2.7 to 2.10).
    """
    check_types(command)
    match command:
        case AppendRunRecord():
            validate_append(command)
        case StartRootRun():
            validate_root_start(command)
        case StartChildRun():
            validate_child_start(command)
        case StartOneShotRun():
            validate_one_shot_start(command)
        case StartOneShotChildRun():
            validate_one_shot_child_start(command)
        case RecordRunCancellation() | RecordRunTerminal() | EnsureRunTerminal():
            check_before_lookup(command.run_id, command.record)
        case RecordRunSuspension() | EnsureRunSuspension():
            check_before_lookup(command.run_id, command.record, command.suspension)
        case CreateSession():
            check_present_id(command.session_id, "session_id")
            check_instant(command.at, "created at")
        case EndSession():
            check_instant(command.at, "ended at")
            check_present_id(command.session_id, "session_id")
        case PurgeSession():
            check_present_id(command.session_id, "session_id")
        case ClaimRun():
            check_present_id(command.run_id, "run_id")
            if fault := lane_fault(command.lane):
                raise fail(fault, "lane is not a valid lane key")
        case _:
            assert_never(command)
