"""The chain of one partition, of any table: each block follows from the one before (design, Committing)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from runlane.service.verify.blocks import check_block
from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import AnyRow, Header

RowT = TypeVar("RowT", bound=AnyRow)
RowT_contra = TypeVar("RowT_contra", bound=AnyRow, contravariant=True)


class BlockContents(Protocol[RowT_contra]):
    """What the blocks of one table hold."""

    def gone(self, rows: Sequence[RowT_contra], /) -> Callable[[str], bool]:
        """Return of which lanes rows may be missing from the block that ``rows`` are of."""
        ...

    def check(self, rows: Sequence[RowT_contra], header: Header, place: Place, /) -> None:
        """Count a block, and report what is wrong with its rows beyond their digests."""
        ...


class ChainCheck(Generic[RowT]):
    """Checks one partition's rows, given in block and row order; ``place`` is that of the partition."""

    def __init__(self, contents: BlockContents[RowT], place: Place, report: Report) -> None:
        self._contents = contents
        self._place = place
        self._report = report
        self.partition_count = 0

    def run(self, rows: Iterable[RowT]) -> None:
        """Report every fault of the chain; counts go to the report too."""
        prev: Header | None = None
        number = -1
        for block in _blocks(rows):
            here = block[0].block
            if here > number + 1:
                self._missing(number + 1, here - 1)
            elif here <= number:
                self._fault(here, "block_doubled", "another block carries this number, in another generation")
            place = self._place.of_block(here)
            header = check_block(block, self._contents.gone(block), place, self._report)
            if header is not None:
                self._contents.check(block, header, place)
                self.partition_count = header.partition_count
                self._check_self(header)
                self._check_link(header, prev if here == number + 1 else None)
            prev, number = header, here

    def _check_self(self, header: Header) -> None:
        """Check what holds for a header whatever came before it."""
        if header.last < header.first - 1 or header.commands > header.last - header.first + 1:
            self._fault(header.number, "positions_wrong", "more commands than positions")
        if header.next_part < header.part:
            self._fault(header.number, "part_wrong", "the partition value named for the next block falls")
        if header.watermark > header.last:
            self._fault(header.number, "watermark_wrong", "the watermark is past the last position")
        if not header.number and (header.first, header.part, header.prev_hash) != (0, 0, ""):
            self._fault(0, "chain_broken", "block 0 does not begin a chain")
        if not header.number and header.epoch != 1:
            self._fault(0, "epoch_wrong", f"a chain begins with epoch {header.epoch}")

    def _check_link(self, header: Header, prev: Header | None) -> None:
        if prev is None:
            return
        number = header.number
        if header.prev_hash != prev.hash:
            self._fault(number, "chain_broken", "it is not chained to the block before")
        if header.first != prev.last + 1:
            self._fault(number, "positions_broken", f"positions start at {header.first} after {prev.last}")
        if header.part != prev.next_part:
            self._fault(number, "part_wrong", "its partition value is not the one named before")
        if header.time < prev.time:
            self._fault(number, "time_backwards", "its time is before that of the block before")
        if header.generation < prev.generation or header.logic_version < prev.logic_version:
            self._fault(number, "version_wrong", "its generation or logic version falls")
        if header.watermark < prev.watermark:
            self._fault(number, "watermark_wrong", "the watermark falls")
        if header.kind != "adopt" and header.log != prev.log:
            self._fault(number, "log_changed", "another log or base without an adoption")
        self._check_epoch(header, prev)

    def _check_epoch(self, header: Header, prev: Header) -> None:
        goes_on = (header.epoch, header.nonce) == (prev.epoch, prev.nonce)
        begins = header.epoch == prev.epoch + 1 and header.nonce != prev.nonce
        sound = {"claim": begins, "commit": goes_on}.get(header.kind, goes_on or begins)
        if not sound:
            text = f"epoch {header.epoch} of this kind of block cannot follow epoch {prev.epoch}"
            self._fault(header.number, "epoch_wrong", text)

    def _missing(self, first: int, last: int) -> None:
        text = "it is not there" if first == last else f"blocks to {last} are not there"
        self._fault(first, "block_missing", text)

    def _fault(self, block: int, code: str, message: str) -> None:
        self._report.add(self._place.of_block(block).fault(code, message))


def _blocks(rows: Iterable[RowT]) -> Iterator[list[RowT]]:
    for _, block in groupby(rows, key=lambda row: (row.generation, row.block)):
        yield list(block)
