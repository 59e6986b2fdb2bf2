"""A second reading of the contract, as plain and slow as its tables: what must each command answer?

Whole records are kept and compared, there are no lanes, digests or changes, and nothing of
`runlane.contract.decide` is used. It takes commands that are locally valid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
from runlane.contract.outcomes import (
    NO_RECORD,
    AppendResult,
    ChildRunStartResult,
    OneShotChildRunStartResult,
    OneShotRunStartResult,
    PurgeResult,
    RepairOutcome,
    Result,
    RootRunStartResult,
    RunRepairResult,
    SessionResult,
)
from runlane.contract.payloads import decode_run_completed
from runlane.contract.values import (
    RunRecord,
    RunStart,
    RunStatus,
    RunSuspension,
    Session,
    SessionStatus,
    StartOutcome,
)


class RefusedError(Exception):
    """The command is refused with the error of this class name."""


@dataclass
class Run:
    """A run and all its records, in order; a record's id is its place."""

    start: RunStart
    outcome: StartOutcome = StartOutcome.PROCEED
    status: RunStatus = RunStatus.RUNNING
    reason: str = ""
    records: list[RunRecord] = field(default_factory=list[RunRecord])
    start_key: str = ""
    link_key: str = ""
    cancel_key: str = ""
    stop_key: str = ""
    checkpoint: RunSuspension | None = None

    def find(self, key: str) -> tuple[str, RunRecord] | None:
        for number, record in enumerate(self.records, 1):
            if record.event_key == key:
                return str(number), record
        return None


@dataclass
class Model:
    """Everything that was ever accepted; a purged session is None."""

    sessions: dict[str, Session | None] = field(default_factory=dict[str, "Session | None"])
    runs: dict[str, Run] = field(default_factory=dict[str, Run])
    claims: dict[str, str] = field(default_factory=dict[str, str])

    def execute(self, command: Command) -> Result:
        """Answer a command, or raise `RefusedError`; a refused command leaves no more than a claim."""
        match command:
            case CreateSession():
                return SessionResult(self._create(command))
            case EndSession():
                return SessionResult(self._end_session(command))
            case PurgeSession():
                return self._purge(command.session_id)
            case StartRootRun():
                return self._start_root(command)
            case StartChildRun():
                return self._start_child(command)
            case StartOneShotRun():
                return self._one_shot(command)
            case StartOneShotChildRun():
                return self._one_shot_child(command)
            case AppendRunRecord():
                return self._append(command)
            case RecordRunCancellation():
                return self._cancel(command)
            case RecordRunSuspension():
                return self._suspend(command)
            case RecordRunTerminal():
                return self._end(command)
            case EnsureRunTerminal() | EnsureRunSuspension():
                return self._ensure(command)
            case ClaimRun():
                raise NotImplementedError("the model claims by itself")
            case _:
                assert_never(command)

    # Sessions (contract 5)

    def _create(self, command: CreateSession) -> Session:
        assert command.at is not None
        if command.session_id in self.sessions:
            session = self._session(command.session_id)
            refuse(session.status is SessionStatus.ENDED, "SessionEnded")
            return session
        session = Session(command.session_id, SessionStatus.ACTIVE, command.at)
        self.sessions[command.session_id] = session
        return session

    def _end_session(self, command: EndSession) -> Session:
        session = self._session(command.session_id)
        if session.status is SessionStatus.ACTIVE:
            session = Session(session.id, SessionStatus.ENDED, session.created_at, command.at)
            self.sessions[session.id] = session
        return session

    def _purge(self, session_id: str) -> PurgeResult:
        if session_id in self.sessions and self.sessions[session_id] is None:
            return PurgeResult(session_id)
        session = self._session(session_id)
        refuse(session.status is SessionStatus.ACTIVE, "SessionActive")
        mine = {run_id: run for run_id, run in self.runs.items() if run.start.session_id == session_id}
        refuse(any(not run.status.terminal for run in mine.values()), "SessionHasActiveRuns")
        self.sessions[session_id] = None
        self.runs = {run_id: run for run_id, run in self.runs.items() if run_id not in mine}
        return PurgeResult(session_id)

    def _session(self, session_id: str) -> Session:
        refuse(session_id not in self.sessions, "SessionNotFound")
        session = self.sessions[session_id]
        refuse(session is None, "SessionPurged")
        assert session is not None
        return session

    def _status(self, session_id: str) -> SessionStatus:
        session = self.sessions.get(session_id)
        return session.status if session is not None else SessionStatus.NONE

    # Starts (contract 2.3 to 2.5, 4)

    def _claim(self, run_id: str, lane: str) -> None:
        refuse(self.claims.setdefault(run_id, lane) != lane, "RunConflict")

    def _start_root(self, command: StartRootRun) -> Result:
        outcome, answers = self._start(command, None)
        return RootRunStartResult(outcome, *answers)

    def _start_child(self, command: StartChildRun) -> Result:
        outcome, answers = self._start(command, command.parent_linked)
        return ChildRunStartResult(outcome, *answers)

    def _start(
        self, command: StartRootRun | StartChildRun, link: RunRecord | None
    ) -> tuple[StartOutcome, list[AppendResult]]:
        start, started, canceled = command.run, present(command.started), present(command.canceled)
        self._claim(start.run_id, f"session {start.session_id}")
        session_id = start.session_id
        refuse(session_id in self.sessions and self.sessions[session_id] is None, "SessionPurged")
        self._check_predecessor(start)
        if link is not None:
            parent = self.runs.get(start.parent_run_id)
            refuse(parent is None or parent.start.session_id != session_id, "RunNotFound")
            assert parent is not None
            self._check_append(parent, link)
        stored = self.runs.get(start.run_id)
        if stored is not None:
            stopped = stored.outcome is StartOutcome.STOP
            selected = [*([link] if link else []), started, *([canceled] if stopped else [])]
            refuse(not same_identity(stored, start), "RunConflict")
            keys = [stored.link_key] * bool(link) + [stored.start_key] + [stored.stop_key] * stopped
            refuse([record.event_key for record in selected] != keys, "RunConflict")
            answers = [self._store(record) for record in selected]
            return stored.outcome, answers if stopped else [*answers, NO_RECORD]
        refuse(session_id not in self.sessions, "SessionNotFound")
        refuse(bool(link) and self.runs[start.parent_run_id].status.terminal, "RunNotActive")
        stops = self._status(session_id) is SessionStatus.ENDED
        run = Run(start, start_key=started.event_key, link_key=link.event_key if link else "")
        self.runs[start.run_id] = run
        answers = [self._store(record) for record in [*([link] if link else []), started]]
        if not stops:
            return run.outcome, [*answers, NO_RECORD]
        run.outcome, run.status, run.reason = StartOutcome.STOP, RunStatus.CANCELED, "session_ended"
        run.stop_key = canceled.event_key
        return run.outcome, [*answers, self._store(canceled)]

    def _check_predecessor(self, start: RunStart) -> None:
        if not start.predecessor_run_id:
            return
        before = self.runs.get(start.predecessor_run_id)
        refuse(before is None or before.start.session_id != start.session_id, "PredecessorNotFound")
        assert before is not None
        refuse(before.status is not RunStatus.SUSPENDED, "InvalidCommand")
        refuse(before.start.agent_id != start.agent_id, "InvalidCommand")
        refuse(before.start.parent_run_id != start.parent_run_id, "InvalidCommand")

    def _one_shot(self, command: StartOneShotRun) -> Result:
        start, started = command.run, present(command.started)
        self._claim(start.run_id, f"run {start.run_id}")
        stored = self.runs.get(start.run_id)
        if stored is not None:
            refuse(not same_identity(stored, start), "RunConflict")
            refuse(stored.start_key != started.event_key, "RunConflict")
        else:
            self.runs[start.run_id] = Run(start, start_key=started.event_key)
        return OneShotRunStartResult(self._store(started))

    def _one_shot_child(self, command: StartOneShotChildRun) -> Result:
        start, link, started = command.run, present(command.parent_linked), present(command.started)
        self._claim(start.run_id, self.claims.get(start.parent_run_id, f"run {start.parent_run_id}"))
        stored = self.runs.get(start.run_id)
        if stored is not None:
            refuse(not same_identity(stored, start), "RunConflict")
            keys = (link.event_key, started.event_key)
            refuse((stored.link_key, stored.start_key) != keys, "RunConflict")
            return OneShotChildRunStartResult(self._same(link), self._same(started))
        parent = self.runs.get(start.parent_run_id)
        refuse(parent is None, "RunNotFound")
        assert parent is not None
        refuse(bool(parent.start.session_id), "RunSessionMismatch")
        refuse(parent.status.terminal, "RunNotActive")
        self._check_append(parent, link)
        self.runs[start.run_id] = Run(start, start_key=started.event_key, link_key=link.event_key)
        return OneShotChildRunStartResult(self._store(link), self._store(started))

    # Commands on a run (contract 2.6 to 2.10)

    def _append(self, command: AppendRunRecord) -> Result:
        record = present(command.record)
        run = self._run(record.run_id)
        stored = self._check_append(run, record)
        refuse(not stored and run.status.terminal, "RunNotActive")
        return self._store(record)

    def _cancel(self, command: RecordRunCancellation) -> Result:
        run, record = self._run(command.run_id), present(command.record)
        self._check_owner(run, record)
        refuse(run.reason not in {"", command.reason}, "RunCancellationConflict")
        self._check_append(run, record)
        refuse(not run.cancel_key and run.status.terminal, "RunNotActive")
        refuse(run.cancel_key not in {"", record.event_key}, "RunCancellationConflict")
        run.reason, run.cancel_key = command.reason, record.event_key
        return self._store(record)

    def _suspend(self, command: RecordRunSuspension) -> Result:
        run, record = self._run(command.run_id), present(command.record)
        self._check_owner(run, record)
        refuse(run.status.terminal and run.status is not RunStatus.SUSPENDED, "RunTerminalConflict")
        refuse(run.checkpoint not in {None, command.suspension}, "RunSuspensionConflict")
        self._check_append(run, record)
        refuse(bool(run.checkpoint) and run.stop_key != record.event_key, "RunSuspensionConflict")
        run.status, run.stop_key, run.checkpoint = RunStatus.SUSPENDED, record.event_key, command.suspension
        return self._store(record)

    def _end(self, command: RecordRunTerminal) -> Result:
        run, record = self._run(command.run_id), present(command.record)
        status = self._check_terminal(run, command, record)
        refuse(run.status.terminal and run.status is not status, "RunTerminalConflict")
        self._check_append(run, record)
        refuse(run.stop_key not in {"", record.event_key}, "RunTerminalConflict")
        run.status, run.stop_key = status, record.event_key
        return self._store(record)

    def _ensure(self, command: EnsureRunTerminal | EnsureRunSuspension) -> Result:
        run, record = self._run(command.run_id), present(command.record)
        checkpoint = command.suspension if isinstance(command, EnsureRunSuspension) else None
        if isinstance(command, EnsureRunTerminal):
            status = self._check_terminal(run, command, record)
        else:
            self._check_owner(run, record)
            status = RunStatus.SUSPENDED
        if run.status.terminal:
            same = run.status is status and run.stop_key == record.event_key and run.checkpoint == checkpoint
            if not same or record not in run.records:
                return RunRepairResult(RepairOutcome.DIFFERENT_TERMINAL, run.status)
            return RunRepairResult(RepairOutcome.ALREADY_STORED, run.status, self._store(record))
        self._check_append(run, record)
        run.status, run.stop_key, run.checkpoint = status, record.event_key, checkpoint
        return RunRepairResult(RepairOutcome.STORED, status, self._store(record))

    def _check_terminal(
        self, run: Run, command: RecordRunTerminal | EnsureRunTerminal, record: RunRecord
    ) -> RunStatus:
        self._check_owner(run, record)
        payload = decode_run_completed(record.payload)
        refuse(payload.labels != dict(run.start.labels), "InvalidCommand")
        if payload.cancellation is not None:
            refuse(payload.cancellation.reason != (run.reason or "engine_canceled"), "InvalidCommand")
        return RunStatus(command.status)

    def _run(self, run_id: str) -> Run:
        refuse(run_id not in self.runs, "RunNotFound")
        return self.runs[run_id]

    def _check_owner(self, run: Run, record: RunRecord) -> None:
        owner = (run.start.run_id, run.start.agent_id, run.start.session_id)
        refuse((record.run_id, record.agent_id, record.session_id) != owner, "RunRecordOwnerMismatch")

    def _check_append(self, run: Run, record: RunRecord) -> bool:
        """Whether the record is stored already."""
        self._check_owner(run, record)
        found = run.find(record.event_key)
        refuse(found is not None and found[1] != record, "EventConflict")
        return found is not None

    def _same(self, record: RunRecord) -> AppendResult:
        """The answer to a stored record, sent again: any change of it is one of content (contract 2.5)."""
        run = self.runs[record.run_id]
        found = run.find(record.event_key)
        assert found is not None
        refuse(found[1] != record, "EventConflict")
        return AppendResult(found[0], False, self._status(run.start.session_id))

    def _store(self, record: RunRecord) -> AppendResult:
        run = self.runs[record.run_id]
        if self._check_append(run, record):
            return self._same(record)
        run.records.append(record)
        return AppendResult(str(len(run.records)), True, self._status(run.start.session_id))


def refuse(condition: bool, error: str) -> None:
    """Refuse with the error of this name when the condition holds."""
    if condition:
        raise RefusedError(error)


def present(record: RunRecord | None) -> RunRecord:
    """The record of a locally valid command."""
    assert record is not None
    return record


def same_identity(stored: Run, start: RunStart) -> bool:
    """Whether two starts are the same but for their predecessor."""

    def identity(given: RunStart) -> tuple[object, ...]:
        return (given.agent_id, given.session_id, given.parent_run_id, given.started_at, dict(given.labels))

    return identity(stored.start) == identity(start)
