"""Where runs live, as far as this store has learned it."""

from __future__ import annotations

from collections import OrderedDict


class LaneCache:
    """Run id to lane, which never changes (design, Run ids); forgets the longest unused beyond ``size``."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lanes: OrderedDict[str, str] = OrderedDict()

    def get(self, run_id: str) -> str | None:
        """Return the lane of a run, or None when it is not known here."""
        lane = self._lanes.get(run_id)
        if lane is not None:
            self._lanes.move_to_end(run_id)
        return lane

    def put(self, run_id: str, lane: str) -> None:
        """Remember the lane of a run."""
        self._lanes[run_id] = lane
        self._lanes.move_to_end(run_id)
        if len(self._lanes) > self._size:
            self._lanes.popitem(last=False)
