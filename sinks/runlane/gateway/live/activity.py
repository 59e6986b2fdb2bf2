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
from runlane.gateway.live import frames
from runlane.gateway.live.following import Following
from runlane.gateway.live.windows import KEPT, Key, Windows

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


class Activity(Following):
    """The windows of one gateway process; nothing is read before the first caller comes."""

    def __init__(
        self, source: ActivitySource, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        super().__init__(source.close)
        self._source = source
        self._now = now
        self._windows = Windows()
        self._taps: dict[_Tap, None] = {}
        self._waits = False

    async def windows(self, agent_id: str = "", last: timedelta = KEPT) -> Sequence[ActivityWindow]:
        """Return the windows of the ``last`` minutes; ``Unavailable`` when the broker does not answer."""
        await self.follow()
        self._renew()
        return self._windows.since(self._now() - last, agent_id)

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

    def take(self, shares: Sequence[ActivityShare]) -> None:
        """Hand shares over to the event loop."""
        self._call(self._take, shares)

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

    def _begin(self) -> None:
        self._source.start(self)

    def _leave(self) -> None:
        for tap in self._taps:
            tap.news.set()


def _frame(window: ActivityWindow) -> bytes:
    return frames.event("window", window_json(window))
