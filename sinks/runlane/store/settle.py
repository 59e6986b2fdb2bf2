"""Writing one block to its end, for writers that wait: insert, read back, again, until its fate is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol, TypeVar

from runlane.contract.errors import TemporaryError
from runlane.store.block import Block
from runlane.store.chain import ChainTip
from runlane.store.flight import ChainWriter, InsertReport, Verdict

BlockT = TypeVar("BlockT", bound=Block)
BlockT_contra = TypeVar("BlockT_contra", bound=Block, contravariant=True)


class BlockStore(Protocol[BlockT_contra]):
    """Where blocks go."""

    def insert(self, block: BlockT_contra, not_after: datetime) -> InsertReport:
        """Insert one native block under the token of its number; never raises for what the database says."""
        ...

    def tips(self, floors: Mapping[int, int]) -> Mapping[int, ChainTip]:
        """Return, per partition, its newest block numbered at least its floor; ``Unavailable``."""
        ...


class Waiting(Protocol):
    """A clock to wait by."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


def settle(
    writer: ChainWriter[BlockT],
    block: BlockT,
    store: BlockStore[BlockT],
    clock: Waiting,
    *,
    stopped: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Write ``block`` behind the writer's head and return what became of it.

    ``OPEN`` only once ``stopped`` says so: then nobody knows, and whoever claims the chain next finds out.
    """
    partition = block.header.partition
    writer.fly(block, clock.monotonic())
    while (flight := writer.flight) is not None and not stopped():
        if writer.date(clock.monotonic()) and flight.sends and flight.not_after is not None:
            flight.note(store.insert(flight.block, flight.not_after))
        begun = clock.monotonic()
        verdict = writer.looked(_tip(store, partition, writer.floor()), begun, clock.monotonic())
        if verdict is not Verdict.OPEN:
            return verdict
        clock.sleep(max(0.0, writer.retry_at - clock.monotonic()))
    return Verdict.OPEN


def _tip(store: BlockStore[BlockT], partition: int, floor: int) -> ChainTip | None:
    try:
        return store.tips({partition: floor})[partition]
    except TemporaryError:
        return None
