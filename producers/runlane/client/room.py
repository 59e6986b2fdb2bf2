"""Bytes in flight, bounded in all and for each partition."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Partition:
    taken: int = 0
    waiting: deque[tuple[int, asyncio.Future[None]]] = field(
        default_factory=deque[tuple[int, asyncio.Future[None]]]
    )


class Room:
    """Lets commands of a partition in by the order in which they came: ``await room.enter(3, size)``.

    A command larger than a bound enters alone. A full partition does not keep others waiting; a full total
    does, until whoever waits longest for it fits.
    """

    def __init__(self, total: int, per_partition: int) -> None:
        self._total = total
        self._per_partition = per_partition
        self._taken = 0
        self._partitions: dict[int, _Partition] = {}
        # The partition whose next command waits for the total: it goes before all others.
        self._next: int | None = None

    async def enter(self, partition: int, size: int) -> None:
        """Return once ``size`` bytes fit; a cancelled caller takes nothing."""
        queue = self._partitions.setdefault(partition, _Partition())
        if self._next is None and not queue.waiting and self._fits(queue, size):
            self._take(queue, size)
            return
        entered = asyncio.get_running_loop().create_future()
        queue.waiting.append((size, entered))
        try:
            self._admit_all()
            await entered
        except asyncio.CancelledError:
            if entered.done() and not entered.cancelled():
                self.leave(partition, size)
            else:
                entered.cancel()
                self._admit_all()
            raise

    def leave(self, partition: int, size: int) -> None:
        """Give ``size`` bytes back."""
        queue = self._partitions[partition]
        queue.taken -= size
        self._taken -= size
        self._admit_all()

    def _admit_all(self) -> None:
        order = list(self._partitions)
        if self._next is not None:
            order.sort(key=lambda partition: partition != self._next)
        self._next = None
        for partition in order:
            queue = self._partitions[partition]
            self._admit(queue)
            if queue.waiting and self._fits_partition(queue, queue.waiting[0][0]):
                self._next = partition
                return
            if not queue.taken and not queue.waiting:
                del self._partitions[partition]

    def _admit(self, queue: _Partition) -> None:
        while queue.waiting:
            size, entered = queue.waiting[0]
            if not entered.done():
                if not self._fits(queue, size):
                    return
                self._take(queue, size)
                entered.set_result(None)
            queue.waiting.popleft()

    def _fits(self, queue: _Partition, size: int) -> bool:
        return self._fits_partition(queue, size) and (not self._taken or self._taken + size <= self._total)

    def _fits_partition(self, queue: _Partition, size: int) -> bool:
        return not queue.taken or queue.taken + size <= self._per_partition

    def _take(self, queue: _Partition, size: int) -> None:
        queue.taken += size
        self._taken += size
