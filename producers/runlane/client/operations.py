"""The commands of the contract as typed methods (contract 1.12, 2 and 5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime

from runlane.client.router import expect
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
from runlane.contract.outcomes import (
    AppendResult,
    ChildRunStartResult,
    ClaimResult,
    OneShotChildRunStartResult,
    OneShotRunStartResult,
    PurgeResult,
    Result,
    RootRunStartResult,
    RunRepairResult,
    SessionResult,
)
from runlane.contract.values import RunRecord, RunStart, RunStatus, RunSuspension, Session


class Operations(ABC):
    """Every command of the contract; each is safe to repeat exactly.

    Each raises a ``ContractError`` subclass when it is refused for good, and a ``TemporaryError`` when time
    runs out: ``OutcomeUnknown`` when it may or may not be committed, ``Unavailable`` or ``Overloaded`` when
    it was not sent.
    """

    @abstractmethod
    async def execute(self, command: Command, *, on_sent: Callable[[], None] | None = None) -> Result:
        """Run any command and return its result: ``await store.execute(PurgeSession("s"))``.

        ``on_sent`` is called once the command is on its way, so a caller may send the next one before the
        answer.
        """

    async def start_root_run(
        self, run: RunStart, *, started: RunRecord | None, canceled: RunRecord | None
    ) -> RootRunStartResult:
        """Start a session-backed root run; claims its run id first.

        ``canceled`` is written instead of starting work when the session has ended. ``RunConflict``,
        ``SessionNotFound``, ``SessionPurged``, ``PredecessorNotFound``, ``RunRecordOwnerMismatch``
        (contract 2.3).
        """
        return expect(await self.execute(StartRootRun(run, started, canceled)), RootRunStartResult)

    async def start_child_run(
        self,
        run: RunStart,
        *,
        parent_linked: RunRecord | None,
        started: RunRecord | None,
        canceled: RunRecord | None,
    ) -> ChildRunStartResult:
        """Start a session-backed child run and link it on its parent; claims its run id first.

        ``RunNotFound`` for the parent, ``RunNotActive`` when it has stopped, else as a root start (contract
        2.3).
        """
        command = StartChildRun(run, parent_linked, started, canceled)
        return expect(await self.execute(command), ChildRunStartResult)

    async def start_one_shot_run(self, run: RunStart, *, started: RunRecord | None) -> OneShotRunStartResult:
        """Start a sessionless root run; ``RunConflict`` (contract 2.4)."""
        return expect(await self.execute(StartOneShotRun(run, started)), OneShotRunStartResult)

    async def start_one_shot_child_run(
        self, run: RunStart, *, parent_linked: RunRecord | None, started: RunRecord | None
    ) -> OneShotChildRunStartResult:
        """Start a sessionless child run; claims its run id for its parent's lane first.

        ``RunNotFound``, ``RunSessionMismatch``, ``RunNotActive``, ``RunConflict`` (contract 2.5).
        """
        command = StartOneShotChildRun(run, parent_linked, started)
        return expect(await self.execute(command), OneShotChildRunStartResult)

    async def append_run_record(self, record: RunRecord | None, *, after_key: str = "") -> AppendResult:
        """Append an ordinary record; ``after_key`` names the event key that has to be stored before it.

        ``RunNotFound``, ``RunNotActive``, ``EventConflict``, ``RunRecordOwnerMismatch`` (contract 2.6). An
        append whose predecessor was refused ends as ``OutOfOrder``.
        """
        return expect(await self.execute(AppendRunRecord(record, after_key)), AppendResult)

    async def record_run_cancellation(
        self, run_id: str, reason: str, *, record: RunRecord | None
    ) -> AppendResult:
        """Record why a run shall stop; the first reason stays for ever.

        ``RunNotFound``, ``RunCancellationConflict``, ``RunNotActive``, ``EventConflict`` (contract 2.7).
        """
        return expect(await self.execute(RecordRunCancellation(run_id, reason, record)), AppendResult)

    async def record_run_suspension(
        self, run_id: str, suspension: RunSuspension, *, record: RunRecord | None
    ) -> AppendResult:
        """Store a checkpoint and suspend the run.

        ``RunNotFound``, ``RunTerminalConflict``, ``RunSuspensionConflict``, ``EventConflict`` (contract 2.8).
        """
        return expect(await self.execute(RecordRunSuspension(run_id, suspension, record)), AppendResult)

    async def record_run_terminal(
        self, run_id: str, status: RunStatus | str, *, record: RunRecord | None
    ) -> AppendResult:
        """End a run as completed, failed or canceled.

        ``RunNotFound``, ``RunTerminalConflict``, ``EventConflict`` (contract 2.9).
        """
        return expect(await self.execute(RecordRunTerminal(run_id, status, record)), AppendResult)

    async def ensure_run_terminal(
        self, run_id: str, status: RunStatus | str, *, record: RunRecord | None
    ) -> RunRepairResult:
        """Make sure that a run is terminal and say which state won; ``RunNotFound`` (contract 2.10)."""
        return expect(await self.execute(EnsureRunTerminal(run_id, status, record)), RunRepairResult)

    async def ensure_run_suspension(
        self, run_id: str, suspension: RunSuspension, *, record: RunRecord | None
    ) -> RunRepairResult:
        """Make sure that a run is suspended and say which state won; ``RunNotFound`` (contract 2.10)."""
        return expect(await self.execute(EnsureRunSuspension(run_id, suspension, record)), RunRepairResult)

    async def create_session(self, session_id: str, at: datetime | None) -> Session:
        """Host: create a session, or return the active one; ``SessionEnded``, ``SessionPurged`` (contract 5).

        Needs a host key, as ``end_session`` and ``purge_session`` do: ``NotPermitted`` without.
        """
        return expect(await self.execute(CreateSession(session_id, at)), SessionResult).session

    async def end_session(self, session_id: str, at: datetime | None) -> Session:
        """Host: end a session, once and for all; ``SessionNotFound``, ``SessionPurged`` (contract 5)."""
        return expect(await self.execute(EndSession(session_id, at)), SessionResult).session

    async def purge_session(self, session_id: str) -> PurgeResult:
        """Host: erase an ended session for ever.

        ``SessionNotFound``, ``SessionActive``, ``SessionHasActiveRuns`` (contract 5).
        """
        return expect(await self.execute(PurgeSession(session_id)), PurgeResult)

    async def claim_run(self, run_id: str, lane: str) -> ClaimResult:
        """Claim a run id for a lane for ever; ``RunConflict``. Starts claim by themselves (contract 0)."""
        return expect(await self.execute(ClaimRun(run_id, lane)), ClaimResult)
