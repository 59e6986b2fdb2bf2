"""The start-up self-test: what the journal's safety rests on is tried on this database, on a table like it.

Two inserts under one token are tried in both orders of size, 1 row and 8 MB: the token must keep the second
one out. A block after its time must be refused whole. A database that fails is not written to, nor is a
replicated one: reading a block back would have to be linearisable there (design, Committing 3), which nothing
of this release asks for.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any, Final

from runlane.contract.errors import LateBlock, RunlaneError, UnsafeEngine
from runlane.store.engine import ClientPool
from runlane.store.rows import COLUMNS, Columns
from runlane.store.tables import JOURNAL, ChainTable
from runlane.store.values import instant
from runlane.store.writer import BlockWriter

_LARGE_ROWS: Final = 4_000
_LARGE_BODY: Final = "x" * 2_048
_MINUTE: Final = timedelta(minutes=1)
_OTHER_ENGINES: Final = """
SELECT name, engine FROM system.tables
WHERE database = currentDatabase() AND engine != 'MergeTree'
    AND name IN ('journal', 'chains', 'journal_meta', 'memory_events', 'memory_chains')
ORDER BY name
"""


def self_test(pool: ClientPool) -> None:
    """Raise ``UnsafeEngine`` unless one server has the chains, keeps one block a number, refuses a late one.

    Needs the right to create and drop a table beside the journal. Raises ``Unavailable`` when the database
    does not answer.
    """
    for table, engine in pool.query(_OTHER_ENGINES):
        raise UnsafeEngine(
            f"table {table} is a {engine}: this release writes to one server with plain MergeTree tables,"
            " and to no replicated or shared ones"
        )
    name = f"self_test_{uuid.uuid4().hex}"
    pool.command(f"CREATE TABLE {name} AS journal")
    try:
        _Trial(pool, name).run()
    finally:
        pool.command(f"DROP TABLE IF EXISTS {name} SYNC")


class _Trial:
    def __init__(self, pool: ClientPool, name: str) -> None:
        self._pool = pool
        self._name = name
        table = ChainTable(name, JOURNAL.columns, JOURNAL.types)
        self._writer = BlockWriter(pool, "self-test", table=table)

    def run(self) -> None:
        in_time = self._now() + _MINUTE
        small, large = _rows(1, ""), _rows(_LARGE_ROWS, _LARGE_BODY)
        for token, first, second in (("small-first", small, large), ("large-first", large, small)):
            before = self._count()
            self._writer.insert_columns(first, token, in_time)
            self._writer.insert_columns(second, token, in_time)
            if self._count() != (before[0] + len(first[0]), before[1] + 1):
                raise UnsafeEngine(
                    "of two blocks of one number, 1 row and 8 MB, not exactly the first one got in"
                )
        before = self._count()
        try:
            self._writer.insert_columns(small, "late", self._now() - _MINUTE)
        except LateBlock:
            pass
        except RunlaneError as error:
            raise UnsafeEngine(
                f"a late block is refused for another reason than its time: {error.message}"
            ) from None
        else:
            raise UnsafeEngine("a block that comes after its time is not refused")
        if self._count() != before:
            raise UnsafeEngine("a late block is not refused whole")

    def _now(self) -> datetime:
        return instant(self._pool.query("SELECT toUnixTimestamp64Micro(now64(6))")[0][0])

    def _count(self) -> tuple[int, int]:
        rows = self._pool.query(f"SELECT count(), uniqExact(reason) FROM {self._name}")  # noqa: S608
        return int(rows[0][0]), int(rows[0][1])


def _rows(count: int, body: str) -> Columns:
    insert = uuid.uuid4().hex
    values: dict[str, Any] = {**dict.fromkeys(JOURNAL.numbers, 0), "body": body, "reason": insert}
    return tuple((values.get(name, ""),) * count for name in COLUMNS)
