"""What the feed reads of the journal: where chains stand, what ran, and the records of a range of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from runlane.contract.activity.fold import RunningRuns
from runlane.contract.limits import KIB
from runlane.contract.payloads import RUN_COMPLETED, RUN_STARTED, RUN_SUSPENDED
from runlane.contract.times import micros
from runlane.contract.values import CommittedRecord
from runlane.store import ClientPool
from runlane.store.chain import ChainReader
from runlane.store.sql import names, slices
from runlane.store.tables import JOURNAL
from runlane.store.values import instant

_PAGE_BYTES: Final = 4 * KIB * KIB
_COMMITS: Final = f"{JOURNAL.commits} AND partition = {{partition:UInt32}}"
_LAST: Final = f"SELECT count(), max(block) FROM journal WHERE {_COMMITS}"  # noqa: S608
_POSITION_BEFORE: Final = f"""
SELECT count(), max(position) FROM journal WHERE {_COMMITS} AND block < {{block:Int64}} AND type = 'commit'
"""  # noqa: S608
_TIME: Final = f"SELECT max(time) FROM journal WHERE {_COMMITS} AND block <= {{block:Int64}}"  # noqa: S608
_BLOCK_SINCE: Final = f"""
SELECT count(), min(block) FROM journal WHERE {_COMMITS} AND time >= {{time:Int64}}
"""  # noqa: S608
_BLOCK_OF: Final = f"""
SELECT count(), max(block) FROM journal
WHERE {_COMMITS} AND position <= {{position:Int64}} AND type = 'commit'
"""  # noqa: S608
_TOMBSTONES: Final = "SELECT lane FROM journal WHERE kind = 'tombstone' AND partition = {partition:UInt32}"
_TAKEN: Final = """
SELECT lane, max(lane_seq) FROM journal
WHERE lane IN {lanes} AND kind = 'record' AND partition = {{partition:UInt32}} AND block <= {{block:Int64}}
GROUP BY lane
"""
_RUNNING: Final = f"""
SELECT lane, agent_id, toInt64(countIf(type = {{start:String}})) - countIf(type != {{start:String}}) AS runs
FROM journal
WHERE partition = {{partition:UInt32}} AND kind = 'record' AND block < {{block:Int64}}
    AND type IN {{types:Array(String)}} AND lane NOT IN ({_TOMBSTONES})
GROUP BY lane, agent_id
HAVING runs > 0
"""  # noqa: S608


class History(Protocol):
    """The reads; each may raise ``Unavailable`` and ``JournalFault``."""

    def last_block(self, partition: int) -> int:
        """Return the last block of a chain, -1 for none."""
        ...

    def time_of(self, partition: int, block: int) -> datetime:
        """Return when ``block``, or the last one before it, was committed; the epoch without any."""
        ...

    def block_since(self, partition: int, since: datetime) -> int | None:
        """Return the first block that was committed at ``since`` or later, None without one."""
        ...

    def sent_block(self, partition: int, block: int) -> int:
        """Return the last block all of which was in the topic when ``block`` was committed, -1 for none."""
        ...

    def running(self, partition: int, block: int) -> Sequence[RunningRuns]:
        """Return which runs were running before ``block``; those of purged lanes are left out."""
        ...

    def purged(self, partition: int) -> frozenset[str]:
        """Return the lanes that were purged."""
        ...

    def taken(self, partition: int, lanes: Sequence[str], block: int) -> Mapping[str, int]:
        """Return the last ``lane_seq`` of each lane in the blocks up to ``block``, nothing for none."""
        ...

    def records(self, partition: int, first: int, last: int) -> Iterator[Sequence[CommittedRecord]]:
        """Yield records and lane events of blocks ``first`` to ``last`` in order, without purged ones."""
        ...


class JournalHistory:
    """Implements ``History`` over ClickHouse."""

    def __init__(self, pool: ClientPool) -> None:
        self._pool = pool
        self._chains = ChainReader(pool)

    def last_block(self, partition: int) -> int:
        """Return the last block of a chain."""
        blocks, block = self._pool.query(_LAST, {"partition": partition})[0]
        return int(block) if blocks else -1

    def time_of(self, partition: int, block: int) -> datetime:
        """Return when ``block``, or the last one before it, was committed."""
        return instant(int(self._pool.query(_TIME, {"partition": partition, "block": block})[0][0]))

    def block_since(self, partition: int, since: datetime) -> int | None:
        """Return the first block that was committed at ``since`` or later."""
        asked = {"partition": partition, "time": micros(since)}
        blocks, block = self._pool.query(_BLOCK_SINCE, asked)[0]
        return int(block) if blocks else None

    def sent_block(self, partition: int, block: int) -> int:
        """Return the last block all of which was in the topic when ``block`` was committed."""
        if block < 0:
            return -1
        headers = self._chains.headers(partition, block, block)
        if not headers:
            return block - 1
        asked = {"partition": partition, "position": headers[0].watermark}
        blocks, last = self._pool.query(_BLOCK_OF, asked)[0]
        return int(last) if blocks else -1

    def running(self, partition: int, block: int) -> Sequence[RunningRuns]:
        """Return which runs were running before ``block``."""
        types = [RUN_STARTED, RUN_COMPLETED, RUN_SUSPENDED]
        asked = {"partition": partition, "block": block, "start": RUN_STARTED, "types": types}
        return [(str(lane), str(agent), int(runs)) for lane, agent, runs in self._pool.query(_RUNNING, asked)]

    def purged(self, partition: int) -> frozenset[str]:
        """Return the lanes that were purged."""
        return frozenset(str(row[0]) for row in self._pool.query(_TOMBSTONES, {"partition": partition}))

    def taken(self, partition: int, lanes: Sequence[str], block: int) -> Mapping[str, int]:
        """Return the last ``lane_seq`` of each lane in the blocks up to ``block``."""
        found: dict[str, int] = {}
        for some in slices(lanes):
            sql = _TAKEN.format(lanes=names(some))
            found.update(
                (str(lane), int(last))
                for lane, last in self._pool.query(sql, {"partition": partition, "block": block})
            )
        return found

    def records(self, partition: int, first: int, last: int) -> Iterator[Sequence[CommittedRecord]]:
        """Yield the records of a range of blocks."""
        after, to = self._position_before(partition, first), self._position_before(partition, last + 1)
        while after < to:
            page = self._chains.outbox(partition, after, to, _PAGE_BYTES)
            yield [item for item in page.items if isinstance(item, CommittedRecord)]
            after = page.last_position

    def _position_before(self, partition: int, block: int) -> int:
        asked = {"partition": partition, "block": block}
        blocks, position = self._pool.query(_POSITION_BEFORE, asked)[0]
        return int(position) if blocks else -1
