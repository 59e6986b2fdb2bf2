"""The last records of a watched lane, so that a viewer who comes back costs no read. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from runlane.contract.limits import KIB
from runlane.gateway.live.frames import RecordFrame

MAX_FRAMES: Final = 1_000
MAX_BYTES: Final = KIB * KIB


class Recent:
    """A gapless row of a lane's records, the oldest of which go; a hole begins it anew."""

    def __init__(self) -> None:
        self._frames: deque[RecordFrame] = deque()
        self._size = 0

    def add(self, frame: RecordFrame) -> None:
        """Take what the topic brought; what was here already changes nothing."""
        if self._frames:
            last = self._frames[-1].lane_seq
            if frame.lane_seq <= last:
                return
            if frame.lane_seq > last + 1:
                self.clear()
        self._frames.append(frame)
        self._size += frame.size
        while len(self._frames) > MAX_FRAMES or self._size > MAX_BYTES:
            self._size -= self._frames.popleft().size
            if not self._frames:
                return

    def clear(self) -> None:
        """Forget everything: something may have been missed."""
        self._frames.clear()
        self._size = 0

    def after(self, run_id: str, cursor: int) -> Sequence[RecordFrame] | None:
        """Return the records after ``cursor`` of a run or, without one, of the lane; None when it can't tell.

        ``cursor`` itself, or the record that follows it, must be here: else one in between may be missing.
        """
        frames = [frame for frame in self._frames if not run_id or frame.run_id == run_id]
        numbers = [frame.seq if run_id else frame.lane_seq for frame in frames]
        if not numbers or not numbers[0] - 1 <= cursor <= numbers[-1]:
            return None
        return frames[cursor - numbers[0] + 1 :]
