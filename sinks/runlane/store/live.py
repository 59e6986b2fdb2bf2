"""What live streams ask of the journal beside the contract's reads: where a run lives, how far it got."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from runlane.contract.errors import RunNotFound
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.values import CommittedRecord, RunMeta
from runlane.store.engine import ClientPool
from runlane.store.values import RECORD_COLUMNS, record_of

T = TypeVar("T")
_CLAIMS: Final = "SELECT run_id, body FROM journal WHERE lane IN {homes:Array(String)} AND kind = 'claim'"
_RUN_HEAD: Final = """
SELECT max(seq) FROM journal
WHERE lane = {lane:String} AND kind = 'record' AND run_id = {run:String}
"""
_LANE_HEAD: Final = """
SELECT max(lane_seq) FROM journal WHERE lane = {lane:String} AND kind = 'record' AND run_id != ''
"""
_COUNTS: Final = """
SELECT
    run_id, any(lane), count(),
    sum(if(total_tokens > 0, total_tokens, input_tokens + output_tokens)),
    maxIf(lane_seq, type NOT IN {dull:Array(String)}),
    maxIf(lane_seq, type NOT IN {dull:Array(String)} AND type NOT IN ('run_completed', 'run_suspended'))
FROM journal
WHERE lane IN {lanes:Array(String)} AND kind = 'record' AND run_id IN {runs:Array(String)}
GROUP BY run_id
"""
_RECORDS: Final = f"""
SELECT {", ".join(RECORD_COLUMNS)} FROM journal
WHERE lane IN {{lanes:Array(String)}} AND kind = 'record' AND lane_seq IN {{numbers:Array(UInt64)}}
    AND (lane, lane_seq) IN (SELECT arrayJoin(arrayZip({{lanes:Array(String)}}, {{numbers:Array(UInt64)}})))
"""  # noqa: S608 - column names of ours


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run's number of records, the tokens that its `usage` records count, its last record worth telling.

    ``spoken`` is the last one but for the run's end, which often tells nothing itself.
    """

    records: int
    tokens: int
    last: CommittedRecord | None
    spoken: CommittedRecord | None


class LiveReads:
    """The reads, for any number of threads; each may raise ``Unavailable``."""

    def __init__(self, pool: ClientPool) -> None:
        self._pool = pool

    def run_lane(self, run_id: str) -> str:
        """Return the lane that holds a run; ``RunNotFound`` when nobody claimed the id."""
        rows = self._pool.query(_CLAIMS, {"homes": [run_lane(run_id)]})
        if not rows:
            raise RunNotFound("the run is unknown")
        return str(rows[0][1])

    def head(self, lane: str, run_id: str = "") -> int:
        """Return the last ``seq`` of a run, or the last ``lane_seq`` of all runs of a lane; 0 for none."""
        sql = _RUN_HEAD if run_id else _LANE_HEAD
        return int(self._pool.query(sql, {"lane": lane, "run": run_id})[0][0])

    def facts(self, runs: Sequence[RunMeta], dull: Sequence[str]) -> Mapping[str, RunFacts]:
        """Return what is known of each run by its id; a record of a ``dull`` type is not worth telling."""
        if not runs:
            return {}
        lanes = self._lanes(runs)
        asked = {"lanes": sorted(set(lanes.values())), "runs": list(lanes), "dull": list(dull)}
        counted = self._pool.query(_COUNTS, asked)
        read = self._records({(row[1], number) for row in counted for number in row[4:] if number})
        return {
            run_id: RunFacts(int(records), int(tokens), read.get((lane, last)), read.get((lane, spoken)))
            for run_id, lane, records, tokens, last, spoken in counted
        }

    def _lanes(self, runs: Sequence[RunMeta]) -> dict[str, str]:
        lanes = {run.run_id: session_lane(run.session_id) for run in runs if run.session_id}
        homes = [run_lane(run.run_id) for run in runs if not run.session_id]
        if homes:
            lanes.update(
                (str(run_id), str(lane)) for run_id, lane in self._pool.query(_CLAIMS, {"homes": homes})
            )
        return lanes

    def _records(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], CommittedRecord]:
        if not places:
            return {}
        lanes, numbers = zip(*places, strict=True)
        rows = self._pool.query(_RECORDS, {"lanes": list(lanes), "numbers": list(numbers)}, raw=("body",))
        records = (record_of(dict(zip(RECORD_COLUMNS, row, strict=True))) for row in rows)
        return {(record.lane, record.lane_seq): record for record in records}


class AsyncLiveReads:
    """``LiveReads`` for an event loop; at most ``threads`` of them run at once."""

    def __init__(self, pool: ClientPool, *, threads: int = 2) -> None:
        self._reads = LiveReads(pool)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="live-read")

    async def run_lane(self, run_id: str) -> str:
        """Return the lane that holds a run; ``RunNotFound``."""
        return await self._call(lambda reads: reads.run_lane(run_id))

    async def head(self, lane: str, run_id: str = "") -> int:
        """Return the last number of a run, or of all runs of a lane; 0 for none."""
        return await self._call(lambda reads: reads.head(lane, run_id))

    async def facts(self, runs: Sequence[RunMeta], dull: Sequence[str]) -> Mapping[str, RunFacts]:
        """Return what is known of each run, by its id."""
        return await self._call(lambda reads: reads.facts(runs, dull))

    def close(self) -> None:
        """Wait for the reads that run and end the threads."""
        self._threads.shutdown()

    async def _call(self, read: Callable[[LiveReads], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, read, self._reads)
