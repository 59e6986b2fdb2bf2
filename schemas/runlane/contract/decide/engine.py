"""The one decision function: of the owner, the in-memory store, the simulator (design, Deciding)."""

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
from runlane.contract.decide import claims, oneshot, repair, runs, sessions, starts
from runlane.contract.decide.decision import Decision, Meta
from runlane.contract.errors import ContractError, OutOfOrder
from runlane.contract.state import LaneView


def decide(view: LaneView, command: Command, meta: Meta) -> Decision:
    """Decide ``command`` in the lane that ``view`` shows; every refusal is a value, never an exception.

    All checks come before all writes, so a refusal has no changes (G4). The caller applies the changes, and
    loads the keys of ``named_keys`` first where the lane is not cached whole. No clock, randomness or I/O.
    """
    try:
        return _decide(view, command, meta)
    except (ContractError, OutOfOrder) as refusal:
        return Decision(None, refusal.info())


def _decide(view: LaneView, command: Command, meta: Meta) -> Decision:
    match command:
        case AppendRunRecord():
            return runs.append(view, command, meta)
        case StartRootRun():
            return starts.start_root(view, command, meta)
        case StartChildRun():
            return starts.start_child(view, command, meta)
        case StartOneShotRun():
            return oneshot.start_one_shot(view, command, meta)
        case StartOneShotChildRun():
            return oneshot.start_one_shot_child(view, command, meta)
        case RecordRunTerminal():
            return runs.end(view, command, meta)
        case RecordRunCancellation():
            return runs.cancel(view, command, meta)
        case RecordRunSuspension():
            return runs.suspend(view, command, meta)
        case ClaimRun():
            return claims.claim_run(view, command, meta)
        case EnsureRunTerminal():
            return repair.ensure_terminal(view, command, meta)
        case EnsureRunSuspension():
            return repair.ensure_suspension(view, command, meta)
        case CreateSession():
            return sessions.create_session(view, command, meta)
        case EndSession():
            return sessions.end_session(view, command, meta)
        case PurgeSession():
            return sessions.purge_session(view, command, meta)
        case _:
            assert_never(command)
