"""The usual path of a run: start it, append to it, end it whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

from runlane.client.run_values import failure_of, now
from runlane.client.run_writer import RunWriter
from runlane.contract.delta import Delta
from runlane.contract.errors import InvalidCommand, RunlaneError, RunNotActive
from runlane.contract.outcomes import AppendResult
from runlane.contract.payloads import (
    CANCELLATION_INTENT,
    CHILD_RUN_LINKED,
    RUN_COMPLETED,
    RUN_STARTED,
    RUN_SUSPENDED,
    SESSION_ENDED_REASON,
    CancellationIntent,
    ChildRunLinked,
    RunCompleted,
    RunStarted,
    RunSuspended,
)
from runlane.contract.values import NO_LABELS, RunRecord, RunStart, RunStatus, RunSuspension, StartOutcome

if TYPE_CHECKING:
    from runlane.client.store import RunStore


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The tool call of a parent run that a child run answers."""

    tool_name: str
    tool_call_id: str


class Run(RunWriter):
    """One run of this process: ``async with store.run("r", "agent", session_id="s") as run: ...``.

    Entering starts it, ``RunNotActive`` when its session has ended. Leaving ends it: completed, failed
    after an exception, canceled when the task is cancelled; a suspended run stays suspended. Record keys
    count up, so the same code with the same ``started_at`` and times repeats exactly what it did.
    """

    def __init__(
        self, store: RunStore, start: RunStart, *, parent: Run | None = None, call: ToolCall | None = None
    ) -> None:
        super().__init__(store, start if start.started_at is not None else replace(start, started_at=now()))
        self._parent = parent
        self._call = call
        self._suspended = False

    async def cancel(self, reason: str) -> AppendResult:
        """Record why the run shall stop; it goes on until it ends."""
        payload = CancellationIntent(reason=reason).encode()
        record = self._record(CANCELLATION_INTENT, payload, event_key=CANCELLATION_INTENT)
        return await self._store.record_run_cancellation(self.run_id, reason, record=record)

    async def suspend(
        self,
        suspension_id: str,
        data: bytes,
        *,
        version: str = "",
        pending_count: int = 0,
        required_tools: Sequence[str] = (),
    ) -> AppendResult:
        """Store a checkpoint and suspend the run, after all that was posted; its end then writes nothing."""
        await self.flush()
        payload = RunSuspended(
            suspension_id=suspension_id,
            version=version,
            pending_count=pending_count,
            required_tools=tuple(required_tools),
        )
        record = self._record(RUN_SUSPENDED, payload.encode(), event_key=RUN_SUSPENDED)
        suspension = RunSuspension(suspension_id, data)
        result = await self._store.record_run_suspension(self.run_id, suspension, record=record)
        self._suspended = True
        return result

    def delta(self, tool_call_id: str, stream: str, text: str) -> None:
        """Show text that is being written: ``run.delta("", "assistant", "Let me")``.

        ``stream`` names the text, ``tool_call_id`` the call it belongs to, if any. It is stored nowhere and
        may get lost; append the whole text as a record. ``InvalidCommand`` for more than 16 KiB at once.
        """
        delta = Delta(self.run_id, tool_call_id, stream, text)
        self._store.send_delta(delta, session_id=self.start.session_id)

    def child(
        self,
        run_id: str,
        agent_id: str,
        *,
        call: ToolCall,
        labels: Mapping[str, str] = NO_LABELS,
        predecessor_run_id: str = "",
        started_at: datetime | None = None,
    ) -> Run:
        """Return a child run that answers a tool call of this one: ``async with run.child(...) as child``."""
        start = RunStart(
            run_id=run_id,
            agent_id=agent_id,
            session_id=self.start.session_id,
            parent_run_id=self.run_id,
            predecessor_run_id=predecessor_run_id,
            started_at=started_at,
            labels=labels,
        )
        return Run(self._store, start, parent=self, call=call)

    async def __aenter__(self) -> Self:
        """Start the run; errors as of the start operations."""
        outcome = await self._begin()
        if outcome is StartOutcome.STOP:
            raise RunNotActive("the session has ended: the run was stopped at its start")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the run, unless it was suspended; an exception of the body leaves as it came."""
        if error is None:
            try:
                await self.flush()
            except (Exception, asyncio.CancelledError) as unposted:
                await self._end_after(unposted)
                raise
            await self._complete()
        else:
            await self._end_after(error)

    async def _begin(self) -> StartOutcome:
        run = self.start
        started = self._lifecycle(
            RUN_STARTED,
            RunStarted(
                parent_run_id=run.parent_run_id,
                predecessor_run_id=run.predecessor_run_id,
                labels=dict(run.labels),
            ).encode(),
        )
        link = self._link()
        if not run.session_id:
            if link is None:
                await self._store.start_one_shot_run(run, started=started)
            else:
                await self._store.start_one_shot_child_run(run, parent_linked=link, started=started)
            return StartOutcome.PROCEED
        stopped = RunCompleted.canceled(SESSION_ENDED_REASON, labels=run.labels)
        canceled = self._lifecycle(RUN_COMPLETED, stopped.encode())
        if link is None:
            root = await self._store.start_root_run(run, started=started, canceled=canceled)
            return root.outcome
        child = await self._store.start_child_run(run, parent_linked=link, started=started, canceled=canceled)
        return child.outcome

    def _link(self) -> RunRecord | None:
        if self._parent is None or self._call is None:
            return None
        payload = ChildRunLinked(
            tool_name=self._call.tool_name,
            tool_call_id=self._call.tool_call_id,
            child_run_id=self.run_id,
            child_agent_id=self.start.agent_id,
        )
        # With the child's time, so that a repeated start repeats its link.
        return self._parent._record(  # noqa: SLF001 - a run links its child
            CHILD_RUN_LINKED, payload.encode(), timestamp=self.start.started_at
        )

    async def _complete(self) -> None:
        if not self._suspended:
            payload = RunCompleted.success(labels=self.start.labels)
            record = self._record(RUN_COMPLETED, payload.encode(), event_key=RUN_COMPLETED)
            await self._store.record_run_terminal(self.run_id, RunStatus.COMPLETED, record=record)

    async def _end_after(self, error: BaseException) -> None:
        """End the run as ``error`` demands; what goes wrong here becomes a note of it."""
        if self._suspended:
            return
        try:
            await self._settle()
            if isinstance(error, Exception):
                payload = RunCompleted.failed(failure_of(error), labels=self.start.labels)
                await self._ensure(RunStatus.FAILED, payload)
            else:
                await self._end_canceled()
        except RunlaneError as failed:
            error.add_note(f"run {self.run_id!r} could not be ended: {failed.code}: {failed.message}")

    async def _end_canceled(self) -> None:
        """A canceled completion names the stored reason, which somebody else may just have recorded."""
        try:
            await self._ensure_canceled()
        except InvalidCommand:
            await self._ensure_canceled()

    async def _ensure_canceled(self) -> None:
        meta = await self._store.load_run(self.run_id)
        payload = RunCompleted.canceled(meta.cancellation_reason, labels=self.start.labels)
        await self._ensure(RunStatus.CANCELED, payload)

    async def _ensure(self, status: RunStatus, payload: RunCompleted) -> None:
        record = self._record(RUN_COMPLETED, payload.encode(), event_key=RUN_COMPLETED)
        await self._store.ensure_run_terminal(self.run_id, status, record=record)

    def _lifecycle(self, type: str, payload: bytes) -> RunRecord:  # noqa: A002
        return self._record(type, payload, event_key=type, timestamp=self.start.started_at)
