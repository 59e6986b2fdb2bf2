"""The lanes that an owner holds in memory, bounded by accounted bytes, least recently used first out.

A lane's state here runs ahead of the journal by what its partition has decided and not yet committed. Such a
lane is never evicted; when a block turns out not to be ours, all lanes of its partition are dropped.
"""

from __future__ import annotations

from collections import OrderedDict

from runlane.contract.decide import LaneState


class _Entry:
    __slots__ = ("block", "bytes", "partition", "state")

    def __init__(self, partition: int, state: LaneState) -> None:
        self.partition = partition
        self.state = state
        self.bytes = state.accounted_bytes
        self.block = -1


class LaneCache:
    """Lane states of all partitions of one owner.

    ``max_bytes`` bounds the whole, ``lane_bytes`` one lane: one that has grown past it is evicted, to be
    loaded without its keys.
    """

    def __init__(self, max_bytes: int, lane_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lane_bytes = lane_bytes
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._large: set[str] = set()
        self._promoted: dict[int, int] = {}
        self._bytes = 0

    def __contains__(self, lane: str) -> bool:
        return lane in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def accounted_bytes(self) -> int:
        """The accounted memory of all lanes."""
        return self._bytes

    def get(self, lane: str) -> LaneState | None:
        """Return a cached lane's state, or None."""
        entry = self._entries.get(lane)
        if entry is None:
            return None
        self._entries.move_to_end(lane)
        return entry.state

    def put(self, partition: int, state: LaneState) -> None:
        """Take a loaded lane; one that is cached already stays, since it may run ahead of the journal."""
        if state.lane in self._entries:
            return
        entry = _Entry(partition, state)
        self._entries[state.lane] = entry
        self._bytes += entry.bytes

    def account(self, lane: str, block: int) -> None:
        """Note that a cached lane was changed by an undecided ``block``; -1 when only its keys were read."""
        entry = self._entries[lane]
        size = entry.state.accounted_bytes
        self._bytes += size - entry.bytes
        entry.bytes = size
        if block >= 0:
            entry.block = block
        if self._is_large(entry):
            self._large.add(lane)

    def promote(self, partition: int, block: int) -> None:
        """Note that a partition's blocks up to ``block`` are committed."""
        self._promoted[partition] = block

    def drop(self, partition: int) -> None:
        """Forget every lane of a partition."""
        gone = [lane for lane, entry in self._entries.items() if entry.partition == partition]
        for lane in gone:
            self._remove(lane)
        self._promoted.pop(partition, None)

    def trim(self) -> None:
        """Evict committed lanes: those too big by themselves, then the least recently used until all fit."""
        for lane in [lane for lane in self._large if self._committed(self._entries[lane])]:
            self._remove(lane)
        excess = self._bytes - self._max_bytes
        victims: list[str] = []
        for lane, entry in self._entries.items():
            if excess <= 0:
                break
            if self._committed(entry):
                victims.append(lane)
                excess -= entry.bytes
        for lane in victims:
            self._remove(lane)

    def _remove(self, lane: str) -> None:
        self._bytes -= self._entries.pop(lane).bytes
        self._large.discard(lane)

    def _committed(self, entry: _Entry) -> bool:
        return entry.block <= self._promoted.get(entry.partition, -1)

    def _is_large(self, entry: _Entry) -> bool:
        """A lane without its keys may hold as much again, so that loading it makes room for a while."""
        factor = 1 if entry.state.keys_complete else 2
        return entry.bytes > factor * self._lane_bytes
