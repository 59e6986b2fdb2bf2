"""What commands answer (contract 1.12)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from runlane.contract.commands import ClaimReceipt
from runlane.contract.errors import ErrorInfo
from runlane.contract.values import RunStatus, Session, SessionStatus, StartOutcome


class RepairOutcome(StrEnum):
    """What an ``ensure_*`` command found or did (contract 2.10)."""

    STORED = "stored"
    ALREADY_STORED = "already_stored"
    DIFFERENT_TERMINAL = "different_terminal"


@dataclass(frozen=True, slots=True)
class AppendResult:
    """A record's id, whether this call wrote it, and the session's state now (empty if sessionless)."""

    id: str = ""
    inserted: bool = False
    session_status: SessionStatus = SessionStatus.NONE


NO_RECORD: Final = AppendResult()


@dataclass(frozen=True, slots=True)
class RootRunStartResult:
    """Answer of ``StartRootRun``; ``canceled`` is ``NO_RECORD`` unless the outcome is stop."""

    outcome: StartOutcome
    started: AppendResult
    canceled: AppendResult = NO_RECORD


@dataclass(frozen=True, slots=True)
class ChildRunStartResult:
    """Answer of ``StartChildRun``; ``canceled`` is ``NO_RECORD`` unless the outcome is stop."""

    outcome: StartOutcome
    parent_record: AppendResult
    started: AppendResult
    canceled: AppendResult = NO_RECORD


@dataclass(frozen=True, slots=True)
class OneShotRunStartResult:
    """Answer of ``StartOneShotRun``."""

    record: AppendResult


@dataclass(frozen=True, slots=True)
class OneShotChildRunStartResult:
    """Answer of ``StartOneShotChildRun``."""

    parent_record: AppendResult
    started: AppendResult


@dataclass(frozen=True, slots=True)
class RunRepairResult:
    """Answer of an ``ensure_*`` command; ``record`` is ``NO_RECORD`` for ``DIFFERENT_TERMINAL``."""

    outcome: RepairOutcome
    status: RunStatus
    record: AppendResult = NO_RECORD


@dataclass(frozen=True, slots=True)
class SessionResult:
    """Answer of ``CreateSession`` and ``EndSession``: the stored session."""

    session: Session


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """Answer of ``PurgeSession``: the id that is now reserved for ever."""

    session_id: str


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """Answer of ``ClaimRun``: the lane that holds the run for ever, and whether this call claimed it.

    ``receipt.mac`` is empty as ``decide`` returns it; the owner signs it before the outcome is journaled.
    """

    receipt: ClaimReceipt
    inserted: bool


Result = (
    AppendResult
    | RootRunStartResult
    | ChildRunStartResult
    | OneShotRunStartResult
    | OneShotChildRunStartResult
    | RunRepairResult
    | SessionResult
    | PurgeResult
    | ClaimResult
)


class Outcome(NamedTuple):
    """The journaled answer of the command at ``position`` of ``partition``: result or error, never both."""

    correlation_id: str
    partition: int
    position: int
    block: int
    result: Result | None
    error: ErrorInfo | None
