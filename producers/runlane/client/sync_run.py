"""A run without ``await``."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self

from runlane.client.portal import Portal
from runlane.client.run import Run, ToolCall
from runlane.client.run_values import Payload
from runlane.contract.outcomes import AppendResult
from runlane.contract.values import NO_LABELS


class SyncRun:
    """``Run`` for code without an event loop: ``with store.run("r", "agent") as run: run.append(...)``."""

    def __init__(self, portal: Portal, run: Run) -> None:
        self._portal = portal
        self._run = run

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._run.run_id

    def __enter__(self) -> Self:
        """Start the run; errors as of the start operations."""
        self._portal.run(self._run.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the run, unless it was suspended; an interrupt ends it as canceled."""
        self._portal.run(self._run.__aexit__(kind, error, traceback))

    def append(
        self,
        type: str,  # noqa: A002
        payload: Payload,
        *,
        event_key: str = "",
        turn_id: str = "",
        timestamp: datetime | None = None,
    ) -> AppendResult:
        """See ``Run.append``."""
        return self._portal.run(
            self._run.append(type, payload, event_key=event_key, turn_id=turn_id, timestamp=timestamp)
        )

    def post(
        self,
        type: str,  # noqa: A002
        payload: Payload,
        *,
        event_key: str = "",
        turn_id: str = "",
        timestamp: datetime | None = None,
    ) -> concurrent.futures.Future[AppendResult]:
        """See ``Run.post``."""
        task = self._portal.run(
            self._run.post(type, payload, event_key=event_key, turn_id=turn_id, timestamp=timestamp)
        )
        return self._portal.begin(_result(task))

    def flush(self) -> None:
        """See ``Run.flush``."""
        self._portal.run(self._run.flush())

    def cancel(self, reason: str) -> AppendResult:
        """See ``Run.cancel``."""
        return self._portal.run(self._run.cancel(reason))

    def suspend(
        self,
        suspension_id: str,
        data: bytes,
        *,
        version: str = "",
        pending_count: int = 0,
        required_tools: Sequence[str] = (),
    ) -> AppendResult:
        """See ``Run.suspend``."""
        return self._portal.run(
            self._run.suspend(
                suspension_id,
                data,
                version=version,
                pending_count=pending_count,
                required_tools=required_tools,
            )
        )

    def delta(self, tool_call_id: str, stream: str, text: str) -> None:
        """See ``Run.delta``."""
        self._portal.run(_delta(self._run, tool_call_id, stream, text))

    def child(
        self,
        run_id: str,
        agent_id: str,
        *,
        call: ToolCall,
        labels: Mapping[str, str] = NO_LABELS,
        predecessor_run_id: str = "",
        started_at: datetime | None = None,
    ) -> SyncRun:
        """See ``Run.child``."""
        child = self._run.child(
            run_id,
            agent_id,
            call=call,
            labels=labels,
            predecessor_run_id=predecessor_run_id,
            started_at=started_at,
        )
        return SyncRun(self._portal, child)


async def _delta(run: Run, tool_call_id: str, stream: str, text: str) -> None:
    run.delta(tool_call_id, stream, text)


async def _result(task: asyncio.Task[AppendResult]) -> AppendResult:
    return await asyncio.shield(task)
