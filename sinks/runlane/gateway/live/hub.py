"""Who watches what: committed records and deltas go to the viewers of their lane, and to nobody else.

Pure like the taps it fills: whoever runs it calls it on one event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from runlane.contract.delta import Delta
from runlane.contract.payloads.types import SESSION_PURGED
from runlane.contract.values import CommittedRecord
from runlane.gateway.live import frames
from runlane.gateway.live.frames import RecordFrame
from runlane.gateway.live.tap import Tap


class Watcher(Protocol):
    """Sees the records of every lane while it is there."""

    def record(self, record: CommittedRecord) -> None:
        """Take a committed record, perhaps for the second time."""
        ...

    def lose(self) -> None:
        """Take notice that records may have been missed."""
        ...


class Hub:
    """The taps by lane, and the one watcher of all lanes, if any."""

    def __init__(self) -> None:
        self._lanes: dict[str, dict[Tap, None]] = {}
        self.watcher: Watcher | None = None

    def wants(self, lane: str) -> bool:
        """Whether anybody watches ``lane``; safe to ask from any thread."""
        return self.watcher is not None or lane in self._lanes

    def subscribe(self, lane: str, run_id: str, cursor: int, wake: Callable[[], None]) -> Tap:
        """Return a tap that takes what is committed from now on; ``unsubscribe`` lets it go."""
        tap = Tap(lane, run_id, cursor, wake)
        self._lanes.setdefault(lane, {})[tap] = None
        return tap

    def unsubscribe(self, tap: Tap) -> None:
        """Let a tap go; a second time changes nothing."""
        taps = self._lanes.get(tap.lane)
        if taps is not None:
            taps.pop(tap, None)
            if not taps:
                del self._lanes[tap.lane]

    def record(self, record: CommittedRecord) -> None:
        """Hand on a committed record."""
        if self.watcher is not None:
            self.watcher.record(record)
        taps = self._lanes.get(record.lane)
        if taps is None:
            return
        if record.type == SESSION_PURGED and not record.run_id:
            for tap in taps:
                tap.purge()
            return
        frame = RecordFrame(record)
        for tap in taps:
            tap.put(frame)

    def delta(self, lane: str, piece: Delta) -> None:
        """Hand on text that is being written."""
        taps = self._lanes.get(lane)
        if taps is None:
            return
        data = frames.delta(piece)
        for tap in taps:
            if tap.run_id in ("", piece.run_id):
                tap.put_delta(data)

    def lose(self) -> None:
        """The topic lost its place: every viewer looks into history."""
        if self.watcher is not None:
            self.watcher.lose()
        for tap in self._taps():
            tap.lose()

    def leave(self) -> None:
        """The gateway stops: every viewer closes, and comes back to another."""
        for tap in self._taps():
            tap.leave()

    def _taps(self) -> Iterator[Tap]:
        for taps in list(self._lanes.values()):
            yield from list(taps)
