"""The hub on an event loop: takes what the source finds, and keeps time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Generator, Sequence
from typing import Final, Protocol

from runlane.contract.reader import Reader
from runlane.contract.values import CommittedRecord
from runlane.gateway.live.board import Board
from runlane.gateway.live.following import Following
from runlane.gateway.live.hub import Hub
from runlane.gateway.live.ports import Happened, History, Source

_BEAT_SECONDS: Final = 15.0
_MOST_ON_THE_WAY: Final = 8
_LOOK_SECONDS: Final = 0.5


class Beating(Protocol):
    """An open stream that can be asked to say something."""

    def beat(self) -> None:
        """Say something."""
        ...


class Live(Following):
    """What is committed, as it is committed, for the viewers of one gateway process.

    The ``Sink`` of its source. ``reader`` sees everything.
    """

    def __init__(self, source: Source, history: History, reader: Reader) -> None:
        super().__init__(source.close)
        self.hub: Final = Hub()
        self.history: Final = history
        self.board: Final = Board(self.hub, history, reader)
        self._source = source
        self._open: dict[Beating, None] = {}
        self._places = threading.Semaphore(_MOST_ON_THE_WAY)

    @contextlib.contextmanager
    def beating(self, stream: Beating) -> Generator[None]:
        """Keep ``stream`` from falling silent."""
        self._open[stream] = None
        try:
            yield
        finally:
            del self._open[stream]

    def wants(self, lane: str) -> bool:
        """Whether anybody looks at ``lane``."""
        return self.hub.wants(lane)

    def take(self, happened: Sequence[Happened]) -> None:
        """Hand over to the event loop; when that is busy, the source waits."""
        while not self._places.acquire(timeout=_LOOK_SECONDS):
            if self._stopped:
                return
        self._call(self._hand_on, happened)

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

    def _begin(self) -> None:
        self._source.start(self)
        asyncio.get_running_loop().call_later(_BEAT_SECONDS, self._beat)

    def _leave(self) -> None:
        self.hub.leave()
        self.board.leave()

    def _beat(self) -> None:
        for stream in self._open:
            stream.beat()
        if not self._stopped:
            asyncio.get_running_loop().call_later(_BEAT_SECONDS, self._beat)
