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
from runlane.gateway.live.recent import Recent
from runlane.gateway.live.tap import Tap


class Watcher(Protocol):
    """Sees the records of every lane while it is there."""

    def record(self, record: CommittedRecord) -> None:
        """Take a committed record, perhaps for the second time."""
        ...

    def lose(self) -> None:
        """Take notice that records may have been missed."""
        ...


class _Lane:
    """Who watches a lane, and what came last while somebody did."""

    def __init__(self) -> None:
        self.taps: dict[Tap, None] = {}
        self.recent = Recent()


class Hub:
    """The taps by lane, and the one watcher of all lanes, if any."""

    def __init__(self) -> None:
        self._lanes: dict[str, _Lane] = {}
        self.watcher: Watcher | None = None

    def wants(self, lane: str) -> bool:
        """Whether anybody watches ``lane``; safe to ask from any thread."""
        return self.watcher is not None or lane in self._lanes

    def subscribe(self, lane: str, run_id: str, cursor: int, wake: Callable[[], None]) -> Tap:
        """Return a tap that takes what is committed from now on; ``unsubscribe`` lets it go."""
        tap = Tap(lane, run_id, cursor, wake)
        self._lanes.setdefault(lane, _Lane()).taps[tap] = None
        return tap

    def catch_up(self, tap: Tap) -> int | None:
        """Give a fresh tap what came lately after its cursor, and return the last number of that.

        None when history has to be read. Only for a tap that has taken nothing yet.
        """
        found = self._lanes[tap.lane].recent.after(tap.run_id, tap.cursor)
        if found is None:
            return None
        for frame in found:
            tap.put(frame)
        tap.read_up()
        shown = [frame.seq if tap.run_id else frame.lane_seq for frame in found if not frame.lane_event]
        return max(shown, default=tap.cursor)

    def unsubscribe(self, tap: Tap) -> None:
        """Let a tap go; a second time changes nothing."""
        lane = self._lanes.get(tap.lane)
        if lane is not None:
            lane.taps.pop(tap, None)
            if not lane.taps:
                del self._lanes[tap.lane]

    def record(self, record: CommittedRecord) -> None:
        """Hand on a committed record."""
        if self.watcher is not None:
            self.watcher.record(record)
        lane = self._lanes.get(record.lane)
        if lane is None:
            return
        if record.type == SESSION_PURGED and not record.run_id:
            lane.recent.clear()
            for tap in lane.taps:
                tap.purge()
            return
        frame = RecordFrame(record)
        lane.recent.add(frame)
        for tap in lane.taps:
            tap.put(frame)

    def delta(self, lane: str, piece: Delta) -> None:
        """Hand on text that is being written."""
        watched = self._lanes.get(lane)
        if watched is None:
            return
        data = frames.delta(piece)
        for tap in watched.taps:
            if tap.run_id in ("", piece.run_id):
                tap.put_delta(data)

    def lose(self) -> None:
        """The topic lost its place: every viewer looks into history."""
        if self.watcher is not None:
            self.watcher.lose()
        for lane in self._lanes.values():
            lane.recent.clear()
        for tap in self._taps():
            tap.lose()

    def leave(self) -> None:
        """The gateway stops: every viewer closes, and comes back to another."""
        for tap in self._taps():
            tap.leave()

    def _taps(self) -> Iterator[Tap]:
        for lane in list(self._lanes.values()):
            yield from list(lane.taps)
