"""The commands that a lane decides (contract 1.12; design, Words).

A value here may be invalid: ``runlane.contract.validate`` says so, at the client and again at the owner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from runlane.contract.values import RunRecord, RunStart, RunStatus, RunSuspension

_WORD_START: Final = re.compile(r"(?<!^)(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class ClaimReceipt:
    """Proof that a run id was claimed for a lane: where that is journaled, signed with the owners' key."""

    run_id: str
    lane: str
    partition: int
    block: int
    key_id: str
    mac: bytes


@dataclass(frozen=True, slots=True)
class ClaimRun:
    """Claim ``run_id`` for ``lane`` for ever; travels in the lane ``r/<run id>``."""

    run_id: str
    lane: str


@dataclass(frozen=True, slots=True)
class StartRootRun:
    """Start a session-backed root run; ``canceled`` is used only in an ended session (contract 2.3)."""

    run: RunStart
    started: RunRecord | None
    canceled: RunRecord | None
    receipt: ClaimReceipt | None = None


@dataclass(frozen=True, slots=True)
class StartChildRun:
    """Start a session-backed child run and link it on its parent (contract 2.3)."""

    run: RunStart
    parent_linked: RunRecord | None
    started: RunRecord | None
    canceled: RunRecord | None
    receipt: ClaimReceipt | None = None


@dataclass(frozen=True, slots=True)
class StartOneShotRun:
    """Start a sessionless root run; claims its run id in the same step (contract 2.4)."""

    run: RunStart
    started: RunRecord | None


@dataclass(frozen=True, slots=True)
class StartOneShotChildRun:
    """Start a sessionless child run in its parent's lane (contract 2.5)."""

    run: RunStart
    parent_linked: RunRecord | None
    started: RunRecord | None
    receipt: ClaimReceipt | None = None


@dataclass(frozen=True, slots=True)
class AppendRunRecord:
    """Append an ordinary record; ``after_key`` names the event key it follows (contract 2.6; design)."""

    record: RunRecord | None
    after_key: str = ""


@dataclass(frozen=True, slots=True)
class RecordRunCancellation:
    """Record the reason for which a run shall stop (contract 2.7)."""

    run_id: str
    reason: str
    record: RunRecord | None


@dataclass(frozen=True, slots=True)
class RecordRunSuspension:
    """Store a checkpoint and suspend the run (contract 2.8)."""

    run_id: str
    suspension: RunSuspension
    record: RunRecord | None


@dataclass(frozen=True, slots=True)
class RecordRunTerminal:
    """End a run as completed, failed or canceled (contract 2.9). An unknown status string is refused."""

    run_id: str
    status: RunStatus | str
    record: RunRecord | None


@dataclass(frozen=True, slots=True)
class EnsureRunTerminal:
    """Make sure that a run is terminal, and say which state won (contract 2.10)."""

    run_id: str
    status: RunStatus | str
    record: RunRecord | None


@dataclass(frozen=True, slots=True)
class EnsureRunSuspension:
    """Make sure that a run is suspended, and say which state won (contract 2.10)."""

    run_id: str
    suspension: RunSuspension
    record: RunRecord | None


@dataclass(frozen=True, slots=True)
class CreateSession:
    """Host: create a session (contract 5)."""

    session_id: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class EndSession:
    """Host: end a session; running runs go on, new starts are stopped (contract 5)."""

    session_id: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class PurgeSession:
    """Host: erase an ended session for ever (contract 5)."""

    session_id: str


HostCommand = CreateSession | EndSession | PurgeSession
StartCommand = StartRootRun | StartChildRun | StartOneShotRun | StartOneShotChildRun
RunCommand = (
    AppendRunRecord
    | RecordRunCancellation
    | RecordRunSuspension
    | RecordRunTerminal
    | EnsureRunTerminal
    | EnsureRunSuspension
)
Command = ClaimRun | StartCommand | RunCommand | HostCommand


def operation_name(kind: type) -> str:
    """Return the name of a command's operation: ``append_run_record`` of ``AppendRunRecord``.

    It is the method of the store, and what journal and messages say.
    """
    return _WORD_START.sub("_", kind.__name__).lower()


@dataclass(frozen=True, slots=True)
class CommandEnvelope:
    """A command with what its answer needs: ``correlation_id`` (1 to 64 ASCII characters), reply partition.

    Both travel as message headers, so a body that cannot be decoded is answered too.
    """

    correlation_id: str
    reply_partition: int
    command: Command
