"""Cold loads: a lane's state out of its rows (G9), whole, or without its keys when it is too big to cache."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from runlane.contract.decide import LaneState
from runlane.contract.state import KeyEntry, RunClaim, RunState, SessionState
from runlane.store.engine import ClientPool
from runlane.store.sql import names, slices
from runlane.store.values import STATE_COLUMNS, run_of, session_of

_STATES: Final = f"""
SELECT {", ".join(STATE_COLUMNS)} FROM journal
WHERE lane IN {{lanes}} AND kind IN ('run', 'session', 'tombstone', 'claim')
ORDER BY lane, block, row
"""  # noqa: S608
_KEYS: Final = """
SELECT lane, run_id, event_key, seq, digest, lane_seq FROM journal
WHERE lane IN {lanes} AND kind = 'record'
ORDER BY lane, kind, lane_seq
LIMIT {limit} BY lane
"""
_COUNTERS: Final = """
SELECT lane, run_id, max(seq), max(lane_seq) FROM journal
WHERE lane IN {lanes} AND kind = 'record'
GROUP BY lane, run_id
"""
_NAMED_KEYS: Final = """
SELECT run_id, event_key, seq, digest FROM journal
WHERE lane IN {lanes} AND kind = 'record' AND run_id IN {runs} AND event_key IN {keys}
"""
_KEY_BYTES: Final = 320
"""The least that a key of a loaded lane is accounted with: more keys than fit need not be read."""


class LaneReader:
    """Loads lanes; any number of threads may. Every read may raise ``Unavailable`` and ``JournalFault``."""

    def __init__(self, pool: ClientPool) -> None:
        self._pool = pool

    def load(self, lane: str, *, max_bytes: int) -> LaneState:
        """Return one lane's committed state, as ``load_lanes`` does."""
        return self.load_lanes((lane,), max_bytes=max_bytes)[lane]

    def load_lanes(self, lanes: Sequence[str], *, max_bytes: int) -> Mapping[str, LaneState]:
        """Return each lane's committed state; a lane that nothing was written to is an empty one.

        One that would be accounted with more than ``max_bytes`` comes without keys, ``keys_complete`` False.
        """
        loaded: dict[str, LaneState] = {}
        for some in slices(lanes):
            loaded |= self._load(some, max_bytes)
        return loaded

    def load_keys(self, lane: str, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], KeyEntry]:
        """Return those of the (run id, event key) ``pairs`` that exist in a lane."""
        found: dict[tuple[str, str], KeyEntry] = {}
        for some in slices(pairs):
            runs = names(sorted({run_id for run_id, _ in some}))
            keys = names(sorted({event_key for _, event_key in some}))
            sql = _NAMED_KEYS.format(lanes=names([lane]), runs=runs, keys=keys)
            for run_id, event_key, seq, digest in self._pool.query(sql):
                found[run_id, event_key] = KeyEntry(seq, bytes.fromhex(digest))
        return {pair: found[pair] for pair in pairs if pair in found}

    def _load(self, lanes: Sequence[str], max_bytes: int) -> Mapping[str, LaneState]:
        listed = names(lanes)
        states: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in self._pool.query(_STATES.format(lanes=listed)):
            fields = dict(zip(STATE_COLUMNS, row, strict=True))
            states[fields["lane"]].append(fields)
        limit = max_bytes // _KEY_BYTES + 1
        keys: dict[str, list[Sequence[Any]]] = defaultdict(list)
        for row in self._pool.query(_KEYS.format(lanes=listed, limit=limit)):
            keys[row[0]].append(row)
        loaded = {lane: _whole(lane, states[lane], keys[lane]) for lane in lanes}
        large = [
            lane for lane in lanes if len(keys[lane]) >= limit or loaded[lane].accounted_bytes > max_bytes
        ]
        if large:
            loaded |= self._without_keys(large, states)
        return loaded

    def _without_keys(
        self, lanes: Sequence[str], states: Mapping[str, Sequence[dict[str, Any]]]
    ) -> Mapping[str, LaneState]:
        counters: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
        for lane, run_id, seq, lane_seq in self._pool.query(_COUNTERS.format(lanes=names(lanes))):
            counters[lane].append((run_id, seq, lane_seq))
        return {lane: _partial(lane, states[lane], counters[lane]) for lane in lanes}


def _whole(lane: str, rows: Iterable[Mapping[str, Any]], keys: Sequence[Sequence[Any]]) -> LaneState:
    """Build a lane of its states and of its records' keys, which are in the order of ``lane_seq``."""
    session, runs, claim = _newest(rows)
    last_seq: dict[str, int] = {}
    entries: list[tuple[str, str, KeyEntry]] = []
    purged = session is not None and session.purged
    for _, run_id, event_key, seq, digest, _ in () if purged else keys:
        if run_id:
            last_seq[run_id] = seq
            entries.append((run_id, event_key, KeyEntry(seq, bytes.fromhex(digest))))
    return LaneState.restore(
        lane,
        next_lane_seq=keys[-1][5] + 1 if keys else 1,
        session=session,
        runs=((run, last_seq.get(run.run_id, 0) + 1) for run in runs),
        claim=claim,
        keys=entries,
    )


def _partial(
    lane: str, rows: Iterable[Mapping[str, Any]], counters: Sequence[tuple[str, int, int]]
) -> LaneState:
    session, runs, claim = _newest(rows)
    last_seq = {run_id: seq for run_id, seq, _ in counters}
    return LaneState.restore(
        lane,
        next_lane_seq=max((lane_seq for _, _, lane_seq in counters), default=0) + 1,
        session=session,
        runs=((run, last_seq.get(run.run_id, 0) + 1) for run in runs),
        claim=claim,
        # A purge drops all keys, and nothing is ever appended behind it.
        keys_complete=session is not None and session.purged,
    )


def _newest(
    rows: Iterable[Mapping[str, Any]],
) -> tuple[SessionState | None, Sequence[RunState], RunClaim | None]:
    """Return the last state of the session and of each run, and the claim; rows are in block order."""
    session: SessionState | None = None
    claim: RunClaim | None = None
    runs: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        match row["kind"]:
            case "run":
                runs[row["run_id"]] = row
            case "claim":
                claim = RunClaim(row["run_id"], row["body"], row["block"])
            case "tombstone":
                session = session_of(row)
                runs.clear()
            case _:
                session = session_of(row)
    return session, [run_of(row) for row in runs.values()], claim
