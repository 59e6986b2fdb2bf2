"""Writing a block: one INSERT of one native block, which the table takes once a number and never late.

A losing insert reports success, so nothing here says that a block is in: its commit row must be read back
(``runlane.store.chain``).
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from runlane.contract.errors import (
    InsertRefused,
    InsertUnknown,
    LateBlock,
    RunlaneError,
    TooManyParts,
    Unavailable,
)
from runlane.contract.times import micros
from runlane.store.block import Block, BlockHeader
from runlane.store.engine import ClientPool, error_code
from runlane.store.flight import InsertReport
from runlane.store.rows import Columns
from runlane.store.tables import JOURNAL, ChainTable

_NO_LIMIT_ROWS: Final = 100_000_000
_NO_LIMIT_BYTES: Final = 100_000_000_000
_SETTINGS: Final[Mapping[str, Any]] = {
    "async_insert": 0,
    "wait_for_async_insert": 1,
    "insert_deduplicate": 1,
    "deduplicate_insert": "enable",
    # One insert stays one native block and one part: the token holds between blocks of the same count only.
    "max_insert_threads": 1,
    "max_insert_block_size": _NO_LIMIT_ROWS,
    "min_insert_block_size_rows": _NO_LIMIT_ROWS,
    "min_insert_block_size_bytes": _NO_LIMIT_BYTES,
    "max_partitions_per_insert_block": 1,
    # Starting threads is a quarter of a small insert's time, and no help to a large one.
    "max_threads": 1,
    "input_format_parallel_parsing": 0,
    # The driver hands a block to the embedded engine as a file.
    "storage_file_read_method": "pread",
}
_LOG: Final = logging.getLogger("runlane.store")
_REPORTS: Final[Mapping[type[RunlaneError], InsertReport]] = {
    LateBlock: InsertReport.LATE,
    TooManyParts: InsertReport.BUSY,
    InsertRefused: InsertReport.REFUSED,
    InsertUnknown: InsertReport.UNKNOWN,
}
_LATE: Final = 469
_TOO_MANY_PARTS: Final = 252
_REFUSED: Final = frozenset({16, 20, 43, 44, 47, 53, 60, 70, 81, 115, 131, 164, 497})
"""Codes that say the table or the right to write is wrong: the same insert never succeeds."""


class BlockWriter:
    """Inserts the blocks of one journal; any number of threads may.

    ``max_execution_time`` bounds, in seconds, how long an insert may run after its deadline was checked.
    """

    def __init__(
        self, pool: ClientPool, journal_id: str, *, table: ChainTable = JOURNAL, max_execution_time: int = 30
    ) -> None:
        self._pool = pool
        self._journal_id = journal_id
        self._table = table
        self._settings = {**_SETTINGS, "max_execution_time": max_execution_time}

    def insert(self, block: Block, not_after: datetime) -> None:
        """Insert a block under its number's token, to be refused by the server's clock after ``not_after``.

        Returning means that a block of this number is in, not that it is this one. Raises ``LateBlock``,
        ``TooManyParts`` and ``InsertRefused`` when nothing was written, ``InsertUnknown`` when nobody can
        tell; nothing else.
        """
        self.insert_columns(block.columns, self.token(block.header), not_after)

    def report(self, block: Block, not_after: datetime) -> InsertReport:
        """Insert a block as ``insert`` does; return what that said, and log what was no success."""
        try:
            self.insert(block, not_after)
        except (LateBlock, TooManyParts, InsertRefused, InsertUnknown) as failure:
            header, table = block.header, self._table.name
            _LOG.warning(
                "%s block %d of partition %d: %s", table, header.number, header.partition, failure.message
            )
            return _REPORTS[type(failure)]
        return InsertReport.ACKED

    def token(self, header: BlockHeader) -> str:
        """Return the insert token of a block's number: journal, partition, chain generation, number."""
        return f"{self._journal_id}/{header.partition}/{header.generation}/{header.number}"

    def insert_columns(self, columns: Columns, token: str, not_after: datetime) -> None:
        """Insert ``columns``, in the table's order but without ``not_after``, as one native block."""
        rows = len(columns[0])
        data = [*columns, (micros(not_after),) * rows]
        try:
            with self._pool.client() as client:
                context = client.create_insert_context(
                    self._table.name,
                    column_names=self._table.columns,
                    column_types=self._table.column_types,
                    column_oriented=True,
                    settings={**self._settings, "insert_deduplication_token": token},
                    data=data,
                )
                context.block_row_count = rows
                client.insert(context=context)
        except Exception as error:  # noqa: BLE001  # whatever the driver raises, the owner must learn one of four things
            raise _insert_error(error) from None
        finally:
            # The driver's context refers to itself: it would hold the block until garbage is next collected.
            data.clear()


def _insert_error(error: Exception) -> RunlaneError:
    from clickhouse_connect.driver.exceptions import DataError

    unwritable = DataError | TypeError | ValueError | OverflowError | struct.error
    code = error_code(error)
    if code == _LATE:
        return LateBlock("the block reached the database after its time")
    if code == _TOO_MANY_PARTS:
        return TooManyParts("the journal has too many parts")
    reason = f"{getattr(error, 'name', None) or type(error).__name__}, code {code}"
    if code in _REFUSED or isinstance(error, unwritable):
        return InsertRefused(f"the database refuses the block ({reason})")
    if isinstance(error, Unavailable):
        return InsertUnknown(error.message)
    return InsertUnknown(f"the insert got no clear answer ({reason})")
