"""The hub on an event loop: starts the source when the first viewer comes, keeps time, lets everybody out."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Final, Protocol

from runlane.contract.errors import Unavailable
from runlane.contract.reader import Reader
from runlane.contract.values import CommittedRecord
from runlane.gateway.live.board import Board
from runlane.gateway.live.hub import Hub
from runlane.gateway.live.ports import Happened, History, Source

_START_SECONDS: Final = 10.0
_BEAT_SECONDS: Final = 15.0
_MOST_ON_THE_WAY: Final = 8
_LOOK_SECONDS: Final = 0.5


class Beating(Protocol):
    """An open stream that can be asked to say something."""

    def beat(self) -> None:
        """Say something."""
        ...


class Live:
    """What is committed, as it is committed, for the viewers of one gateway process.

    Made anywhere, used on one event loop; the ``Sink`` of its source. ``stop`` may be called from any thread:
    it closes every stream, so that a server can end. ``aclose`` ends the source. ``reader`` sees everything.
    """

    def __init__(self, source: Source, history: History, reader: Reader) -> None:
        self.hub: Final = Hub()
        self.history: Final = history
        self.board: Final = Board(self.hub, history, reader)
        self._source = source
        self._open: dict[Beating, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = asyncio.Event()
        self._places = threading.Semaphore(_MOST_ON_THE_WAY)
        self._stopped = False

    async def follow(self) -> None:
        """Return once nothing that is committed from now on is missed; ``Unavailable`` if that takes long."""
        if self._stopped:
            raise Unavailable("the gateway stops", code="stopping")
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._source.start(self)
            self._loop.call_later(_BEAT_SECONDS, self._beat)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            raise Unavailable("the broker does not answer", code="broker_unavailable") from None

    @contextlib.contextmanager
    def beating(self, stream: Beating) -> Generator[None]:
        """Keep ``stream`` from falling silent."""
        self._open[stream] = None
        try:
            yield
        finally:
            del self._open[stream]

    def stop(self) -> None:
        """Close every stream, and let nobody in any more."""
        self._stopped = True
        self._call(self._leave)

    async def aclose(self) -> None:
        """End the source; streams that are still open end too."""
        self._stopped = True
        self._leave()
        if self._loop is not None:
            await asyncio.to_thread(self._source.close)

    def wants(self, lane: str) -> bool:
        """Whether anybody looks at ``lane``."""
        return self.hub.wants(lane)

    def take(self, happened: Sequence[Happened]) -> None:
        """Hand over to the event loop; when that is busy, the source waits."""
        while not self._places.acquire(timeout=_LOOK_SECONDS):
            if self._stopped:
                return
        self._call(self._hand_on, happened)

    def ready(self) -> None:
        """Take notice that the source misses nothing from now on."""
        self._call(self._ready.set)

    def lose(self) -> None:
        """Take notice that something may have been missed."""
        self._call(self.hub.lose)

    def _hand_on(self, happened: Sequence[Happened]) -> None:
        self._places.release()
        for one in happened:
            if isinstance(one, CommittedRecord):
                self.hub.record(one)
            else:
                self.hub.delta(one.lane, one.delta)

    def _leave(self) -> None:
        self.hub.leave()
        self.board.leave()

    def _beat(self) -> None:
        for stream in self._open:
            stream.beat()
        if not self._stopped:
            asyncio.get_running_loop().call_later(_BEAT_SECONDS, self._beat)

    def _call(self, call: Callable[..., object], *arguments: object) -> None:
        # Before the first viewer there is no loop, and after the last one it may be closed.
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(call, *arguments)
