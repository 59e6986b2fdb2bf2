"""What each agent does, for those who may see all of it: windows to ask for, and a stream of changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from runlane.contract.activity import ActivityShare, ActivityWindow
from runlane.contract.errors import Unavailable
from runlane.gateway.live import frames
from runlane.gateway.live.windows import KEPT, Key, Windows

_START_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 1.0
"""A window that changes all the time is told as often as that."""
_BEAT_SECONDS: Final = 15.0
_AT_ONCE: Final = 500
_log = logging.getLogger(__name__)


class ActivitySink(Protocol):
    """Takes what a source finds; every method may be called from the source's own thread."""

    def take(self, shares: Sequence[ActivityShare]) -> None:
        """Take shares of the last hour or new ones, in the order of the topic."""
        ...

    def ready(self) -> None:
        """What the topic held so far was taken."""
        ...


class ActivitySource(Protocol):
    """Follows the activity topic from an hour ago on."""

    def start(self, sink: ActivitySink) -> None:
        """Begin, in a thread of its own."""
        ...

    def close(self) -> None:
        """End; no call of the sink follows."""
        ...


def window_json(window: ActivityWindow) -> Mapping[str, object]:
    """Return a window as the read API gives it."""
    return asdict(window) | {"window_start": window.window_start.strftime("%Y-%m-%dT%H:%M:%SZ")}


class _Tap:
    """What one viewer has not been told yet: names of windows, so it cannot grow beyond what is kept."""

    def __init__(self) -> None:
        self.changed: dict[Key, None] = {}
        self.news = asyncio.Event()


class Activity:
    """The windows of one gateway process, made anywhere, used on one event loop.

    Nothing is read before the first caller comes. ``stop`` ends every stream, from any thread.
    """

    def __init__(
        self, source: ActivitySource, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._source = source
        self._now = now
        self._windows = Windows()
        self._taps: dict[_Tap, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = asyncio.Event()
        self._waits = False
        self._stopped = False

    async def windows(self, agent_id: str = "", last: timedelta = KEPT) -> Sequence[ActivityWindow]:
        """Return the windows of the ``last`` minutes; ``Unavailable`` when the broker does not answer."""
        await self.follow()
        self._renew()
        return self._windows.since(self._now() - last, agent_id)

    async def follow(self) -> None:
        """Return once the last hour is known; ``Unavailable`` if that takes long."""
        if self._stopped:
            raise Unavailable("the gateway stops", code="stopping")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._source.start(self)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            raise Unavailable("the broker does not answer", code="broker_unavailable") from None

    @contextlib.contextmanager
    def tap(self) -> Generator[_Tap]:
        """Lend a viewer what it has not been told yet."""
        tap = _Tap()
        self._taps[tap] = None
        try:
            yield tap
        finally:
            del self._taps[tap]

    async def events(self, tap: _Tap) -> AsyncGenerator[bytes]:
        """Yield the windows of the last hour, `sync`, then each that is new or changed, for ever."""
        yield frames.RETRY
        known = sorted(await self.windows(), key=lambda one: (one.window_start, one.agent_id))
        tap.changed.clear()
        for start in range(0, len(known), _AT_ONCE):
            yield b"".join(_frame(window) for window in known[start : start + _AT_ONCE])
        yield frames.SYNC
        while not self._stopped:
            try:
                async with asyncio.timeout(_BEAT_SECONDS):
                    await tap.news.wait()
            except TimeoutError:
                yield frames.HEARTBEAT
                continue
            tap.news.clear()
            changed, tap.changed = tap.changed, {}
            told = (self._windows.window(key) for key in changed)
            yield b"".join(_frame(window) for window in told if window is not None)

    def stop(self) -> None:
        """End every stream, and let nobody in any more."""
        self._stopped = True
        self._call(self._wake)

    async def aclose(self) -> None:
        """End the source; streams that are still open end too."""
        self._stopped = True
        self._wake()
        if self._loop is not None:
            await asyncio.to_thread(self._source.close)

    def take(self, shares: Sequence[ActivityShare]) -> None:
        """Hand shares over to the event loop."""
        self._call(self._take, shares)

    def ready(self) -> None:
        """Take notice that the last hour is known."""
        self._call(self._ready.set)

    def _take(self, shares: Iterable[ActivityShare]) -> None:
        self._windows.take(shares)
        if not self._waits and self._loop is not None:
            self._waits = True
            self._loop.call_later(_PAUSE_SECONDS, self._tell)

    def _tell(self) -> None:
        self._waits = False
        self._renew()

    def _renew(self) -> None:
        changed = self._windows.renew(self._now())
        if changed:
            for tap in self._taps:
                tap.changed.update(dict.fromkeys(changed))
                tap.news.set()

    def _wake(self) -> None:
        for tap in self._taps:
            tap.news.set()

    def _call(self, call: Callable[..., object], *arguments: object) -> None:
        # Before the first viewer there is no loop, and after the last one it may be closed.
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(call, *arguments)


def _frame(window: ActivityWindow) -> bytes:
    return frames.event("window", window_json(window))
