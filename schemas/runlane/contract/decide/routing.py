"""Where a command is decided, and which keys it may look up."""

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
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.values import RunRecord


def home_lane(command: Command) -> str:
    """Return the lane that a valid command is decided in as far as the command alone tells.

    For a run-keyed command and a one-shot child that is the lane of the run's claim, whose owner answers
    ``WrongLane`` when the run lives elsewhere (design, Run ids).
    """
    match command:
        case AppendRunRecord():
            return run_lane(command.record.run_id if command.record is not None else "")
        case StartRootRun() | StartChildRun():
            return session_lane(command.run.session_id)
        case StartOneShotRun():
            return run_lane(command.run.run_id)
        case StartOneShotChildRun():
            return run_lane(command.run.parent_run_id)
        case CreateSession() | EndSession() | PurgeSession():
            return session_lane(command.session_id)
        case (
            ClaimRun()
            | RecordRunCancellation()
            | RecordRunSuspension()
            | RecordRunTerminal()
            | EnsureRunTerminal()
            | EnsureRunSuspension()
        ):
            return run_lane(command.run_id)
        case _:
            assert_never(command)


def named_keys(command: Command) -> tuple[tuple[str, str], ...]:
    """Return every (run id, event key) that ``decide`` may look up for the command, valid or not."""
    match command:
        case AppendRunRecord(record=record, after_key=after_key):
            named = _keys(record)
            if record is not None and after_key:
                named += ((record.run_id, after_key),)
            return named
        case StartRootRun(started=started, canceled=canceled):
            return _keys(started, canceled)
        case StartChildRun(parent_linked=link, started=started, canceled=canceled):
            return _keys(link, started, canceled)
        case StartOneShotRun(started=started):
            return _keys(started)
        case StartOneShotChildRun(parent_linked=link, started=started):
            return _keys(link, started)
        case (
            RecordRunCancellation(record=record)
            | RecordRunSuspension(record=record)
            | RecordRunTerminal(record=record)
            | EnsureRunTerminal(record=record)
            | EnsureRunSuspension(record=record)
        ):
            return _keys(record)
        case ClaimRun() | CreateSession() | EndSession() | PurgeSession():
            return ()
        case _:
            assert_never(command)


def _keys(*records: RunRecord | None) -> tuple[tuple[str, str], ...]:
    return tuple((record.run_id, record.event_key) for record in records if record is not None)
