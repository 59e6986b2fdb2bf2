"""Trying again what may pass (contract 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from runlane.contract.errors import TemporaryError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Patience:
    """Pauses between tries, each twice the last, until the caller's own time-out: ``asyncio.timeout(60)``."""

    first: float = 0.1
    longest: float = 5.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    async def with_retries(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Return what ``call`` returns; again after a ``TemporaryError``, anything else is raised at once."""
        pause = self.first
        while True:
            try:
                return await call()
            except TemporaryError:
                await self.sleep(pause)
            pause = min(pause * 2, self.longest)
