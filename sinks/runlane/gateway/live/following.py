"""Following a source on an event loop: it starts when the first viewer comes; all are let out at the end."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from runlane.contract.errors import Unavailable

_START_SECONDS: Final = 10.0


class Following(ABC):
    """Made anywhere, used on one event loop; ``close`` ends the source.

    ``stop`` may be called from any thread: it ends every stream, so that a server can end. ``aclose`` ends
    the source.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = asyncio.Event()
        self._stopped = False

    async def follow(self) -> None:
        """Return once the source misses nothing from now on; ``Unavailable`` if that takes long."""
        if self._stopped:
            raise Unavailable("the gateway stops", code="stopping")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._begin()
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            raise Unavailable("the broker does not answer", code="broker_unavailable") from None

    def ready(self) -> None:
        """Take notice that the source misses nothing from now on; any thread."""
        self._call(self._ready.set)

    def stop(self) -> None:
        """End every stream, and let nobody in any more."""
        self._stopped = True
        self._call(self._leave)

    async def aclose(self) -> None:
        """End the source; streams that are still open end too."""
        self._stopped = True
        self._leave()
        if self._loop is not None:
            await asyncio.to_thread(self._close)

    @abstractmethod
    def _begin(self) -> None:
        """Start the source, and what else goes on until the end; on the event loop."""

    @abstractmethod
    def _leave(self) -> None:
        """Let every viewer out."""

    def _call(self, call: Callable[..., object], *arguments: object) -> None:
        # Before the first viewer there is no loop, and after the last one it may be closed.
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(call, *arguments)
