"""What a command is called in messages: its operation and ids, never a payload."""

from __future__ import annotations

from typing import assert_never

from runlane.client.transport import Sent
from runlane.contract.commands import (
    AppendRunRecord,
    ClaimRun,
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
    operation_name,
)
from runlane.contract.memory import AppendMemory, DeleteMemory


def describe(command: Sent) -> str:
    """Return the operation and what it is about: ``append_run_record of 'k' in run 'r'``."""
    return f"{operation_name(type(command))} {_subject(command)}"


def _subject(command: Sent) -> str:
    match command:
        case AppendRunRecord(record=record):
            return f"of {record.event_key!r} in run {record.run_id!r}" if record is not None else "of nothing"
        case StartRootRun(run=run) | StartChildRun(run=run):
            return f"of run {run.run_id!r} in session {run.session_id!r}"
        case StartOneShotRun(run=run) | StartOneShotChildRun(run=run):
            return f"of run {run.run_id!r}"
        case CreateSession() | EndSession() | PurgeSession():
            return f"of session {command.session_id!r}"
        case (
            ClaimRun()
            | RecordRunCancellation()
            | RecordRunSuspension()
            | RecordRunTerminal()
            | EnsureRunTerminal()
            | EnsureRunSuspension()
            | AppendMemory()
            | DeleteMemory()
        ):
            return f"of run {command.run_id!r}"
        case _:
            assert_never(command)
