"""Words for the behaviour cases: valid commands by name, what is given, and what a refusal must look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from runlane.contract.commands import (
    AppendRunRecord,
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
from runlane.contract.errors import ContractError
from runlane.contract.outcomes import (
    AppendResult,
    ChildRunStartResult,
    OneShotChildRunStartResult,
    OneShotRunStartResult,
    RootRunStartResult,
    RunRepairResult,
)
from runlane.contract.payloads import (
    CANCELLATION_INTENT,
    CHILD_RUN_LINKED,
    RUN_COMPLETED,
    RUN_STARTED,
    RUN_SUSPENDED,
    CancellationIntent,
    ChildRunLinked,
    Failure,
    RunCompleted,
    RunStarted,
    RunSuspended,
)
from runlane.contract.values import (
    CommittedRecord,
    RunMeta,
    RunRecord,
    RunStart,
    RunStatus,
    RunSuspension,
)
from tests.contract.cases.backend import Backend, Growth

T0 = datetime(2026, 3, 1, 9, 30, 0, 250_000, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
NOTE = b'{"Note":"looked it up","Labels":null}'

_Value = TypeVar("_Value")
_Result = TypeVar("_Result")


def edit(value: _Value, **fields: Any) -> _Value:
    """Return a copy with other fields; `started={"turn_id": "t"}` changes fields of what `started` holds."""
    changed = {
        name: replace(getattr(value, name), **new) if isinstance(new, dict) else new
        for name, new in fields.items()
    }
    copy: _Value = replace(value, **changed)  # type: ignore[type-var]
    return copy


@dataclass(frozen=True)
class Make:
    """Valid commands. Run and session ids get the backend's namespace, event keys need none."""

    namespace: str

    def id(self, name: str) -> str:
        return self.namespace + name if name else ""

    def root(
        self,
        run: str = "run",
        session: str = "session",
        *,
        agent: str = "agent",
        at: datetime = T0,
        labels: Mapping[str, str] | None = None,
        predecessor: str = "",
    ) -> StartRootRun:
        start = RunStart(
            self.id(run), agent, self.id(session), "", self.id(predecessor), at, dict(labels or {})
        )
        return StartRootRun(start, self.started(run, start), self.canceled_at_start(run, start))

    def child(
        self,
        run: str = "child",
        parent: str = "run",
        session: str = "session",
        *,
        agent: str = "child-agent",
        parent_agent: str = "agent",
        at: datetime = T0,
        labels: Mapping[str, str] | None = None,
        predecessor: str = "",
    ) -> StartChildRun:
        start = RunStart(
            self.id(run),
            agent,
            self.id(session),
            self.id(parent),
            self.id(predecessor),
            at,
            dict(labels or {}),
        )
        link = self.link(run, start, parent_agent)
        return StartChildRun(start, link, self.started(run, start), self.canceled_at_start(run, start))

    def one_shot(self, run: str = "run", *, agent: str = "agent", at: datetime = T0) -> StartOneShotRun:
        start = RunStart(self.id(run), agent, "", "", "", at)
        return StartOneShotRun(start, self.started(run, start))

    def one_shot_child(
        self,
        run: str = "child",
        parent: str = "run",
        *,
        agent: str = "child-agent",
        parent_agent: str = "agent",
        at: datetime = T0,
    ) -> StartOneShotChildRun:
        start = RunStart(self.id(run), agent, "", self.id(parent), "", at)
        return StartOneShotChildRun(start, self.link(run, start, parent_agent), self.started(run, start))

    def append(
        self,
        key: str = "note",
        run: str = "run",
        session: str = "session",
        *,
        agent: str = "agent",
        type: str = "planner_note",  # noqa: A002 - the field's name
        payload: bytes = NOTE,
    ) -> AppendRunRecord:
        return AppendRunRecord(self.record(key, run, session, agent=agent, type=type, payload=payload))

    def cancel(
        self,
        reason: str = "user_requested",
        run: str = "run",
        session: str = "session",
        *,
        agent: str = "agent",
        key: str = "cancel",
    ) -> RecordRunCancellation:
        payload = CancellationIntent(reason=reason).encode()
        record = self.record(key, run, session, agent=agent, type=CANCELLATION_INTENT, payload=payload)
        return RecordRunCancellation(self.id(run), reason, record)

    def suspend(
        self,
        run: str = "run",
        session: str = "session",
        *,
        agent: str = "agent",
        key: str = "suspend",
        suspension: str = "suspension",
        data: bytes = b"\x00checkpoint\xff",
    ) -> RecordRunSuspension:
        payload = RunSuspended(suspension_id=suspension, version="v1").encode()
        record = self.record(key, run, session, agent=agent, type=RUN_SUSPENDED, payload=payload)
        return RecordRunSuspension(self.id(run), RunSuspension(suspension, data), record)

    def end(
        self,
        status: RunStatus = RunStatus.COMPLETED,
        run: str = "run",
        session: str = "session",
        *,
        agent: str = "agent",
        key: str = "end",
        reason: str = "engine_canceled",
        labels: Mapping[str, str] | None = None,
    ) -> RecordRunTerminal:
        payload = completion(status, reason, labels).encode()
        record = self.record(key, run, session, agent=agent, type=RUN_COMPLETED, payload=payload)
        return RecordRunTerminal(self.id(run), status, record)

    def ensure_end(self, status: RunStatus = RunStatus.COMPLETED, **options: Any) -> EnsureRunTerminal:
        command = self.end(status, **options)
        return EnsureRunTerminal(command.run_id, command.status, command.record)

    def ensure_suspended(self, **options: Any) -> EnsureRunSuspension:
        command = self.suspend(**options)
        return EnsureRunSuspension(command.run_id, command.suspension, command.record)

    def create(self, session: str = "session", at: datetime | None = T0) -> CreateSession:
        return CreateSession(self.id(session), at)

    def end_session(self, session: str = "session", at: datetime | None = T0) -> EndSession:
        return EndSession(self.id(session), at)

    def purge(self, session: str = "session") -> PurgeSession:
        return PurgeSession(self.id(session))

    def record(
        self,
        key: str,
        run: str = "run",
        session: str = "session",
        *,
        agent: str = "agent",
        type: str = "planner_note",  # noqa: A002 - the field's name
        payload: bytes = NOTE,
    ) -> RunRecord:
        return RunRecord(key, self.id(run), agent, self.id(session), "turn-1", type, payload, T0)

    def started(self, run: str, start: RunStart) -> RunRecord:
        payload = RunStarted(
            parent_run_id=start.parent_run_id,
            predecessor_run_id=start.predecessor_run_id,
            labels=dict(start.labels),
        )
        return _of(start, f"{run}-start", RUN_STARTED, payload.encode())

    def canceled_at_start(self, run: str, start: RunStart) -> RunRecord:
        payload = RunCompleted.canceled("session_ended", labels=start.labels)
        return _of(start, f"{run}-canceled", RUN_COMPLETED, payload.encode())

    def link(self, run: str, start: RunStart, parent_agent: str) -> RunRecord:
        payload = ChildRunLinked(
            tool_name="svc.delegate",
            tool_call_id=f"call-{run}",
            child_run_id=start.run_id,
            child_agent_id=start.agent_id,
        )
        return RunRecord(
            f"link-{run}",
            start.parent_run_id,
            parent_agent,
            start.session_id,
            "turn-1",
            CHILD_RUN_LINKED,
            payload.encode(),
            T0 + 5 * MILLISECOND,
        )


def _of(start: RunStart, key: str, kind: str, payload: bytes) -> RunRecord:
    return RunRecord(key, start.run_id, start.agent_id, start.session_id, "", kind, payload, start.started_at)


def completion(
    status: RunStatus, reason: str = "engine_canceled", labels: Mapping[str, str] | None = None
) -> RunCompleted:
    """The payload of a run that ended so."""
    if status is RunStatus.FAILED:
        return RunCompleted.failed(Failure(message="the model gave up", kind="model_output"), labels=labels)
    if status is RunStatus.CANCELED:
        return RunCompleted.canceled(reason, labels=labels)
    return RunCompleted.success(labels=labels)


class World:
    """A backend, the commands to give it, and what must hold after them."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.make = Make(backend.namespace)

    # What is given

    def session(self, name: str = "session") -> None:
        self.backend.execute(self.make.create(name))

    def ended_session(self, name: str = "session") -> None:
        self.session(name)
        self.backend.execute(self.make.end_session(name))

    def run(self, run: str = "run", session: str = "session", **options: Any) -> StartRootRun:
        """A running root run of an active session; returns its start, to be repeated."""
        self.session(session)
        command = self.make.root(run, session, **options)
        self.backend.execute(command)
        return command

    def stopped_run(self, run: str = "run", session: str = "session") -> StartRootRun:
        """A run that was started in an ended session."""
        self.ended_session(session)
        command = self.make.root(run, session)
        self.backend.execute(command)
        return command

    def run_with_child(self) -> StartChildRun:
        """A running run `run` with a running child `child`; returns the child's start."""
        self.run()
        command = self.make.child()
        self.backend.execute(command)
        return command

    def stop(self, status: RunStatus, run: str = "run", session: str = "session", **options: Any) -> None:
        """Suspend or end a running run."""
        if status is RunStatus.SUSPENDED:
            self.backend.execute(self.make.suspend(run, session, **options))
        else:
            self.backend.execute(self.make.end(status, run, session, **options))

    # What happens

    def do(self, command: Command, kind: type[_Result]) -> _Result:
        """Run a command that must succeed with a result of this kind."""
        result = self.backend.execute(command)
        assert isinstance(result, kind)
        return result

    def append(
        self,
        command: AppendRunRecord | RecordRunCancellation | RecordRunSuspension | RecordRunTerminal,
    ) -> AppendResult:
        return self.do(command, AppendResult)

    def start_root(self, command: StartRootRun) -> RootRunStartResult:
        return self.do(command, RootRunStartResult)

    def start_child(self, command: StartChildRun) -> ChildRunStartResult:
        return self.do(command, ChildRunStartResult)

    def start_one_shot(self, command: StartOneShotRun) -> AppendResult:
        return self.do(command, OneShotRunStartResult).record

    def start_one_shot_child(self, command: StartOneShotChildRun) -> OneShotChildRunStartResult:
        return self.do(command, OneShotChildRunStartResult)

    def ensure(self, command: EnsureRunTerminal | EnsureRunSuspension) -> RunRepairResult:
        return self.do(command, RunRepairResult)

    def refused(self, command: Command, error: type[ContractError], code: str = "") -> ContractError:
        """Run a command that must be refused with exactly this error and leave nothing but its answer."""
        self.backend.journal_growth()
        with pytest.raises(ContractError) as caught:
            self.backend.execute(command)
        assert type(caught.value) is error
        assert caught.value.code == (code or error.code)
        assert not caught.value.retryable
        assert self.backend.journal_growth() == Growth(records=0, states=0)
        return caught.value

    def wrote_nothing(self) -> bool:
        """Whether nothing was written since the last look."""
        return self.backend.journal_growth() == Growth(records=0, states=0)

    # What is there

    def meta(self, run: str = "run") -> RunMeta:
        return self.backend.load_run(self.make.id(run))

    def records(self, run: str = "run") -> Sequence[CommittedRecord]:
        page = self.backend.list_run_records(self.make.id(run), "", 500)
        assert not page.next_cursor
        return page.records

    def types(self, run: str = "run") -> list[str]:
        return [record.type for record in self.records(run)]

    def missing(self, run: str = "run") -> bool:
        """Whether the run is unknown."""
        with pytest.raises(ContractError) as caught:
            self.meta(run)
        return caught.value.code == "run_not_found"
