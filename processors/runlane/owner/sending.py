"""Sending what is committed, and committing the group's offset behind what has arrived."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from runlane.contract.values import CommittedRecord
from runlane.owner.outbox import Outbox
from runlane.owner.shared import Shared
from runlane.owner.tasks import Settled
from runlane.store.block import BlockHeader
from runlane.store.rows import Answer

_COMMIT_SECONDS: Final = 1.0
_PUMP_SECONDS: Final = 0.01
_NEVER: Final = float("inf")


class Sender:
    """One ownership's outbox. ``sent`` is the last position known to have arrived when it begins."""

    def __init__(self, shared: Shared, head: BlockHeader, *, sent: int, tag: int) -> None:
        self._shared = shared
        self._partition = head.partition
        self._base = head.base
        self._outbox = Outbox(partition=head.partition, codec=shared.codec, watermark=sent)
        self._settled = partial(shared.io.post, Settled(head.partition, tag))
        self._offset = 0
        self._committed_at = 0.0

    @property
    def watermark(self) -> int:
        """The last position up to which everything arrived."""
        return self._outbox.watermark

    @property
    def drained(self) -> bool:
        """Whether everything arrived."""
        return self._outbox.empty

    @property
    def failed(self) -> bool:
        """Whether something did not arrive: the ownership must end before any further offset is committed."""
        return self._outbox.failed

    @property
    def roomy(self) -> bool:
        """Whether more may be decided: what waits to be sent is within its bound."""
        return self._outbox.bytes <= self._shared.bounds.outbox_bytes

    def ship(self, items: Iterable[Answer | CommittedRecord], last: int) -> None:
        """Send the items of committed blocks that end with position ``last``."""
        self._outbox.add(items, last, self._settled)
        self._outbox.pump(self._shared.io.send)
        self._outbox.settle()

    def settle(self) -> None:
        """Take note of what arrived."""
        self._outbox.settle()

    def tick(self, now: float) -> None:
        """Send what the log had no room for; commit the offset, once a second at most."""
        self._outbox.pump(self._shared.io.send)
        if now - self._committed_at >= _COMMIT_SECONDS:
            self.commit_offset(now)

    def commit_offset(self, now: float) -> None:
        """Commit the group's offset behind the watermark, unless something failed."""
        if self._due() and not self.failed:
            self._offset = self.watermark + 1 - self._base
            self._committed_at = now
            self._shared.io.commit(self._partition, self._offset)

    def wake_at(self, now: float) -> float:
        """Return when ``tick`` is due, by the monotonic clock."""
        if self._outbox.queued:
            return now + _PUMP_SECONDS
        return self._committed_at + _COMMIT_SECONDS if self._due() else _NEVER

    def _due(self) -> bool:
        return self.watermark + 1 - self._base > self._offset
