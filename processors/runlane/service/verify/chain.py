"""The chain of one partition: each block follows from the one before (design, Committing)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from runlane.service.verify.answers import AnswerCheck
from runlane.service.verify.blocks import Purges, check_block
from runlane.service.verify.report import Place, Report
from runlane.service.verify.rows import Header, Row

_REMOVED_BY_PURGE = frozenset({"answer", "record", "run", "session", "checkpoint"})
_STATE = _REMOVED_BY_PURGE - {"answer"}
_PURGE_ROWS = 2


class ChainCheck:
    """Checks one partition's rows, given in block and row order."""

    def __init__(self, partition: int, answers: AnswerCheck, purges: Purges, report: Report) -> None:
        self._partition = partition
        self._answers = answers
        self._purges = purges
        self._report = report
        self._haunted: set[str] = set()
        self.partition_count = 0

    def run(self, rows: Iterable[Row]) -> None:
        """Report every fault of the chain; counts go to the report too."""
        prev: Header | None = None
        number = -1
        for block in _blocks(self._purged_seen(rows)):
            here = block[0].block
            if here > number + 1:
                self._missing(number + 1, here - 1)
            elif here <= number:
                self._fault(here, "block_doubled", "another block carries this number, in another generation")
            header = check_block(block, self._purges, self._report)
            if header is not None:
                self._answers.check(block, header, self._purges, self._report)
                self._count(header)
                self._check_self(header)
                self._check_link(header, prev if here == number + 1 else None)
            prev, number = header, here

    def _count(self, header: Header) -> None:
        self._report.blocks += 1
        self._report.commands += header.commands
        self._report.records += header.records
        self.partition_count = header.partition_count

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

    def _purged_seen(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Pass rows on, and report those that a purge should have removed or that came after one."""
        for row in rows:
            stone = self._purges.get(row.lane)
            if stone is not None and row.lane not in self._haunted and _is_ghost(row, stone):
                self._haunted.add(row.lane)
                place = Place(row.partition, row.block, row.lane)
                self._report.add(place.fault("purged_rows", "rows of a purged lane are there"))
            yield row

    def _missing(self, first: int, last: int) -> None:
        text = "it is not there" if first == last else f"blocks to {last} are not there"
        self._fault(first, "block_missing", text)

    def _fault(self, block: int, code: str, message: str) -> None:
        self._report.add(Place(self._partition, block).fault(code, message))


def _is_ghost(row: Row, stone: tuple[int, int]) -> bool:
    """Whether a purged lane's row should have been erased, or came after the tombstone.

    The purge's own answer and event, which stand before the tombstone, stay; so do later answers: refusals.
    """
    block, number = stone
    if (row.block, row.row) < (block, number - _PURGE_ROWS):
        return row.kind in _REMOVED_BY_PURGE
    return (row.block, row.row) > stone and row.kind in _STATE


def _blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    for _, block in groupby(rows, key=lambda row: (row.generation, row.block)):
        yield list(block)
