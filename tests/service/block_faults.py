"""Faults that any table of chains can have: what a block lacks, has twice, or states wrongly."""

from tests.service.planting import RowT, changed, the, without


def block_rows(rows: list[RowT], block: int, partition: int = 0) -> list[RowT]:
    return [row for row in rows if (row.partition, row.block) == (partition, block)]


def missing_block(rows: list[RowT]) -> list[RowT]:
    return without(rows, *block_rows(rows, 4))


def missing_first_block(rows: list[RowT]) -> list[RowT]:
    return without(rows, *block_rows(rows, 0))


def doubled_block(rows: list[RowT]) -> list[RowT]:
    return rows + block_rows(rows, 4)


def commit_row_gone(rows: list[RowT]) -> list[RowT]:
    return without(rows, the(rows, kind="commit", partition=0, block=4))


def unreadable_header(rows: list[RowT]) -> list[RowT]:
    return changed(rows, the(rows, kind="commit", partition=0, block=4), body="{")


def broken_hash(rows: list[RowT]) -> list[RowT]:
    return changed(rows, the(rows, kind="commit", partition=0, block=4), digest="0" * 64)
