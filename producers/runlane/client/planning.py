"""A planner's attempt over the stored messages of a run, with its history policy, on asyncio (contract 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from runlane.transcript import (
    HistoryPolicy,
    Messages,
    PrepareMessages,
    RecordSource,
    build_messages_from_run_log,
    plan_with_history,
)

T = TypeVar("T")


class TaskWork:
    """Work in a task that any number of callers wait for: ``HistoryPreparation(..., share=TaskWork)``."""

    def __init__(self, work: Coroutine[Any, Any, Messages]) -> None:
        self._task = asyncio.ensure_future(work)

    def wait(self) -> Awaitable[Messages]:
        """The result or error; cancelling one waiter stops neither the work nor the others."""
        return asyncio.shield(self._task)

    def cancel(self) -> None:
        """Stop the work."""
        self._task.cancel()


async def plan_run(
    store: RecordSource,
    run_id: str,
    planner: Callable[[PrepareMessages], Awaitable[T]],
    *,
    policy: HistoryPolicy | None = None,
) -> T:
    """Run one attempt of a planner over the messages of a run.

    ``await plan_run(store, "r", planner, policy=policy)``

    The planner calls what it is given for the messages to send, as often and from as many tasks as it likes:
    ``policy`` runs once, at the first call, and never where the planner does not ask. What is stored does not
    change. A policy's error fails the attempt, even where the planner ignored it, and outranks the planner's
    own. Raises what ``build_messages_from_run_log`` raises.
    """
    messages = await build_messages_from_run_log(store, run_id)
    return await plan_with_history(messages, policy, planner, share=TaskWork)
