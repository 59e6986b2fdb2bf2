"""Reading chains: where one ends, whether a block is in, and what its blocks have to send.

Each read is one narrow query. The journal is read first and the generations after it, so that a read which
shows the current generation proves that nothing was repaired in between (design, Committing).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from string import Template
from time import monotonic
from typing import Any, Final

from runlane.contract.errors import JournalFault
from runlane.contract.values import CommittedRecord
from runlane.store.block import BlockHeader, parse_header
from runlane.store.engine import ClientPool
from runlane.store.rows import Answer
from runlane.store.tables import JOURNAL, ChainTable
from runlane.store.values import RECORD_COLUMNS, instant, record_of, tombstones

_COMMITS: Final = JOURNAL.commits
_NOW: Final = "toUnixTimestamp64Micro(now64(6))"
_END: Final = f"""
SELECT {_NOW}, groupArray((body, digest))
FROM (
    SELECT body, digest FROM $table
    WHERE $commits AND partition = {{partition:UInt32}}
    ORDER BY block DESC LIMIT 1
)
"""  # noqa: S608
_TIPS: Final = f"""
SELECT {_NOW}, groupArray((partition, block, digest)) FROM $table
WHERE kind = 'commit' AND indexHint($commits) AND ({{spans}})
"""  # noqa: S608
_QUICK: Final = {
    "max_threads": 1,
    "optimize_move_to_prewhere": 0,
    "local_filesystem_read_method": "pread",
    "load_marks_asynchronously": 0,
    # Commit rows are found by the table's order.
    "use_skip_indexes": 0,
}
"""A narrow read is mostly planning and handing over to threads: without these it takes twice as long."""
_GENERATIONS: Final = "SELECT partition, generation FROM $generations"
_HEADERS: Final = """
SELECT body, digest FROM $table
WHERE $commits AND partition = {partition:UInt32} AND block BETWEEN {first:UInt64} AND {last:UInt64}
ORDER BY block
"""
_UNSENT: Final = f"""
SELECT block, position FROM journal
WHERE {_COMMITS} AND partition = {{partition:UInt32}} AND position > {{after:Int64}} AND type = 'commit'
ORDER BY block LIMIT {{limit:UInt32}}
"""  # noqa: S608
_SIZES: Final = """
SELECT block, sum(size) FROM journal
WHERE partition = {partition:UInt32} AND block BETWEEN {first:UInt64} AND {last:UInt64}
    AND kind IN ('answer', 'record')
GROUP BY block
"""
_OUTBOX_COLUMNS: Final = ("kind", "row", "position", "correlation_id", "reply", "code", *RECORD_COLUMNS)
_OUTBOX: Final = f"""
SELECT {", ".join(_OUTBOX_COLUMNS)} FROM journal
WHERE partition = {{partition:UInt32}} AND block BETWEEN {{first:UInt64}} AND {{last:UInt64}}
    AND kind IN ('answer', 'record')
ORDER BY block, row
"""  # noqa: S608
_FIRST_COMMIT: Final = "SELECT body, digest FROM $table WHERE $commits ORDER BY partition, block LIMIT 1"
_ACTIVE_PARTS: Final = (
    "SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = 'journal' AND active"
)
_NEXT_GENERATION: Final = "INSERT INTO $generations SELECT {partition:UInt32}, {generation:UInt32}, now64(6)"
_STATEMENTS: Final = (_END, _TIPS, _GENERATIONS, _HEADERS, _FIRST_COMMIT, _NEXT_GENERATION)
_BLOCKS_A_PAGE: Final = 500
_AHEAD: Final = 100
"""How many numbers above its floor a tip is looked for: a chain has no hole, so one above tells of more."""


@dataclass(frozen=True, slots=True)
class ChainEnd:
    """The last block of a partition's chain, the chain's generation now, the server's time of the read."""

    generation: int
    header: BlockHeader | None
    time: datetime


@dataclass(frozen=True, slots=True)
class ChainTip:
    """The newest block of some numbers (-1 and no hash for none), read like ``ChainEnd``."""

    generation: int
    number: int
    hash: bytes
    time: datetime


@dataclass(frozen=True, slots=True)
class OutboxPage:
    """What blocks have to send, in block and row order, and the last position that they decide."""

    items: Sequence[Answer | CommittedRecord]
    last_position: int


class Chains:
    """Reads the chains of one table; any number of threads may. Every read may raise ``Unavailable``."""

    def __init__(self, pool: ClientPool, table: ChainTable = JOURNAL) -> None:
        self._pool = pool
        names = {"table": table.name, "commits": table.commits, "generations": table.generations}
        self._sql = {sql: Template(sql).substitute(names) for sql in _STATEMENTS}

    def end(self, partition: int) -> ChainEnd:
        """Return the end of a partition's chain; ``JournalFault`` for a commit row that can't be read."""
        time, found = self._timed(self._sql[_END], {"partition": partition})
        header = _header(*found[0]) if found else None
        return ChainEnd(self.generations().get(partition, 0), header, time)

    def tips(self, floors: Mapping[int, int]) -> Mapping[int, ChainTip]:
        """Return, per partition, its newest block from its floor to a hundred above: the read-back."""
        spans = " OR ".join(
            f"(partition = {int(p)} AND block BETWEEN {max(0, int(n))} AND {max(0, int(n)) + _AHEAD})"
            for p, n in floors.items()
        )
        time, found = self._timed(self._sql[_TIPS].format(spans=spans), {})
        generations = self.generations()
        newest: dict[int, tuple[int, str]] = dict.fromkeys(floors, (-1, ""))
        newest |= {int(partition): (int(block), digest) for partition, block, digest in sorted(found)}
        return {
            partition: ChainTip(generations.get(partition, 0), block, bytes.fromhex(digest), time)
            for partition, (block, digest) in newest.items()
        }

    def generations(self) -> Mapping[int, int]:
        """Return the current generation of each chain that was ever repaired; the others are at 0."""
        # A row a repair: so few that the database would take longer to aggregate them.
        newest: dict[int, int] = {}
        for partition, generation in self._pool.query(self._sql[_GENERATIONS], settings=_QUICK):
            newest[int(partition)] = max(int(generation), newest.get(int(partition), 0))
        return newest

    def headers(self, partition: int, first: int, last: int) -> Sequence[BlockHeader]:
        """Return the commit rows of blocks ``first`` to ``last`` that exist; raises ``JournalFault``."""
        rows = self._pool.query(self._sql[_HEADERS], {"partition": partition, "first": first, "last": last})
        return [_header(body, digest) for body, digest in rows]

    def recorded_partition_count(self) -> int | None:
        """Return the partition count that the chains were started with, None before the first block."""
        rows = self._pool.query(self._sql[_FIRST_COMMIT])
        return _header(*rows[0]).partition_count if rows else None

    def start_generation(self, partition: int, generation: int) -> None:
        """Write a partition's next chain generation, for ``repair``; the caller sees that no owner runs."""
        self._pool.command(self._sql[_NEXT_GENERATION], {"partition": partition, "generation": generation})

    def _timed(self, sql: str, parameters: Mapping[str, Any]) -> tuple[datetime, Sequence[Any]]:
        """Return what a query found, and a time of the server's clock that is not after its snapshot.

        The server may take its clock after its snapshot, and what appears between the two would count as
        absent; but not longer after than the query took.
        """
        begun = monotonic()
        now, found = self._pool.query(sql, parameters, settings=_QUICK)[0]
        return instant(now) - timedelta(seconds=monotonic() - begun), found


class ChainReader(Chains):
    """Reads the chains of a journal, and what their blocks have to send."""

    def __init__(self, pool: ClientPool) -> None:
        super().__init__(pool, JOURNAL)

    def outbox(self, partition: int, after: int, to: int, max_bytes: int) -> OutboxPage:
        """Return what the blocks that decide positions in (``after``, ``to``] have to send.

        The page ends at a block's end: before ``max_bytes`` are exceeded, but not before one block. Rows of
        purged lanes are left out. ``last_position`` is ``to`` when nothing is left.
        """
        parameters = {"partition": partition, "after": after, "limit": _BLOCKS_A_PAGE}
        unsent: list[tuple[int, int]] = [
            (int(n), int(last)) for n, last in self._pool.query(_UNSENT, parameters)
        ]
        # The block that decides ``to`` is the first whose last position reaches it.
        reaching = next((i for i, (_, last) in enumerate(unsent) if last >= to), len(unsent) - 1)
        unsent = unsent[: reaching + 1]
        if not unsent:
            return OutboxPage((), to)
        span = {"partition": partition, "first": unsent[0][0], "last": unsent[-1][0]}
        sizes: dict[int, int] = {int(block): int(size) for block, size in self._pool.query(_SIZES, span)}
        chosen = _fitting(unsent, sizes, max_bytes)
        span["last"] = chosen[-1][0]
        rows = self._pool.query(_OUTBOX, span, raw=("body",))
        return OutboxPage(tuple(self._items(rows)), chosen[-1][1])

    def active_parts(self) -> int:
        """Return the number of the journal's active parts."""
        return int(self._pool.query(_ACTIVE_PARTS)[0][0])

    def _items(self, rows: Sequence[Sequence[Any]]) -> Iterator[Answer | CommittedRecord]:
        items = [dict(zip(_OUTBOX_COLUMNS, row, strict=True)) for row in rows]
        purged = tombstones(self._pool, {item["lane"] for item in items})
        for item in items:
            erased_before = purged.get(item["lane"])
            if erased_before is None or (item["block"], item["row"]) >= erased_before:
                yield record_of(item) if item["kind"] == "record" else _answer(item)


def _answer(row: Mapping[str, Any]) -> Answer:
    return Answer(
        position=row["position"],
        lane=row["lane"],
        correlation_id=row["correlation_id"],
        reply_partition=row["reply"],
        operation=row["type"],
        code=row["code"],
        outcome=b64decode(row["body"]),
        run_id=row["run_id"],
        session_id=row["session_id"],
        agent_id=row["agent_id"],
    )


def _fitting(
    blocks: Sequence[tuple[int, int]], sizes: Mapping[int, int], room: int
) -> Sequence[tuple[int, int]]:
    chosen = [blocks[0]]
    used = sizes.get(blocks[0][0], 0)
    for block in blocks[1:]:
        used += sizes.get(block[0], 0)
        if used > room:
            break
        chosen.append(block)
    return chosen


def _header(body: str, digest: str) -> BlockHeader:
    try:
        header = parse_header(body)
    except ValueError as error:
        raise JournalFault(f"a commit row can't be read: {error}") from None
    if header.hash.hex() != digest:
        raise JournalFault(
            f"block {header.number} of partition {header.partition} does not have the hash it states"
        )
    return header
