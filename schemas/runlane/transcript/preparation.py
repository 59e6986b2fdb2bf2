"""The history policy inside one attempt of a planner activity (contract 7, PrepareMessages).

Running work that several callers wait for is a matter of their event loop, which this package does not know:
the host hands in how it is done. With asyncio:

    class Shared:
        def __init__(self, work):
            self.task = asyncio.ensure_future(work)

        def wait(self):
            return asyncio.shield(self.task)

        def cancel(self):
            self.task.cancel()

    answer = await plan_with_history(messages, policy, planner, share=Shared)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeAlias, TypeVar

from runlane.transcript.turns import Messages

HistoryPolicy: TypeAlias = Callable[[Messages], Awaitable[Messages]]
"""Turns a history into the messages to send."""

PrepareMessages: TypeAlias = Callable[[], Awaitable[Messages]]
"""What a planner calls for the messages to send."""

T = TypeVar("T")


class SharedWork(Protocol):
    """Work that was started once and that any number of callers wait for."""

    def wait(self) -> Awaitable[Messages]:
        """The work's result or error. Cancelling one waiter stops neither the work nor other waiters."""
        ...

    def cancel(self) -> None:
        """Stop the work."""
        ...


Share: TypeAlias = Callable[[Coroutine[Any, Any, Messages]], SharedWork]
"""Starts work that is to be shared."""


class HistoryPreparation:
    """Prepares the messages of one attempt, once; a new attempt takes a new one (C352, C353)."""

    def __init__(self, messages: Messages, policy: HistoryPolicy | None, *, share: Share) -> None:
        self._messages = tuple(messages)
        self._policy = policy
        self._share = share
        self._work: SharedWork | None = None

    async def prepare_messages(self) -> Messages:
        """The messages to send. All callers, at once or later, get the same ones or the same error.

        The policy runs at the first call; without one the messages come back as they are.
        """
        if self._policy is None:
            return self._messages
        if self._work is None:
            self._work = self._share(self._apply(self._policy))
        return await self._work.wait()

    async def settle(self) -> None:
        """Wait for a preparation that was begun and raise its error, also where the planner ignored it."""
        if self._work is not None:
            await self._work.wait()

    def abandon(self) -> None:
        """Stop a preparation that nobody waits for any more."""
        if self._work is not None:
            self._work.cancel()

    async def _apply(self, policy: HistoryPolicy) -> Messages:
        return await policy(self._messages)


async def plan_with_history(
    messages: Messages,
    policy: HistoryPolicy | None,
    planner: Callable[[PrepareMessages], Awaitable[T]],
    *,
    share: Share,
) -> T:
    """Run one attempt of a planner, which may ask for prepared messages.

    A preparation that failed fails the attempt, even where the planner ignored it, and outranks the planner's
    own error. The policy never runs where the planner does not ask.
    """
    attempt = HistoryPreparation(messages, policy, share=share)
    try:
        result = await planner(attempt.prepare_messages)
    except Exception:
        await attempt.settle()
        raise
    except BaseException:
        attempt.abandon()
        raise
    await attempt.settle()
    return result
