"""The state of a lane in memory, and a layer over it for what is decided but not committed yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Self

from runlane.contract.state import Changes, KeyEntry, LaneView, RunClaim, RunState, SessionState

_LANE_BYTES: Final = 1_200
_RUN_BYTES: Final = 1_600
_KEY_BYTES: Final = 240


class KeysNotLoaded(LookupError):
    """A key of a partly loaded lane was asked for before it was loaded, against ``missing_keys``."""


class _Layer:
    """The dictionaries of a lane, and how changes are applied to them."""

    __slots__ = ("_claims", "_keys", "_next_seq", "_runs", "_session", "lane", "next_lane_seq")

    def __init__(self, lane: str, next_lane_seq: int) -> None:
        self.lane = lane
        self.next_lane_seq = next_lane_seq
        self._session: SessionState | None = None
        self._runs: dict[str, RunState] = {}
        self._next_seq: dict[str, int] = {}
        self._keys: dict[str, dict[str, KeyEntry]] = {}
        self._claims: dict[str, RunClaim] = {}

    def apply(self, changes: Changes) -> None:
        """Make ``changes`` part of the state, in the order in which they were decided.

        Raises ``ValueError`` when a record lacks the lane's next ``lane_seq``: a lost or repeated change.
        """
        if changes.purged:
            self._purge()
        for record in changes.records:
            if record.lane_seq != self.next_lane_seq:
                raise ValueError(f"lane_seq {record.lane_seq} where {self.next_lane_seq} is next")
            self.next_lane_seq += 1
            if record.seq:
                self._next_seq[record.run_id] = record.seq + 1
        for run in changes.runs:
            self._put_run(run)
        for run_id, event_key, entry in changes.keys:
            self._put_key(run_id, event_key, entry)
        if changes.session is not None:
            self._session = changes.session
        if changes.claim is not None:
            self._claims[changes.claim.run_id] = changes.claim

    def _purge(self) -> None:
        self._runs.clear()
        self._next_seq.clear()
        self._keys.clear()

    def _put_run(self, run: RunState) -> None:
        self._runs[run.run_id] = run

    def _put_key(self, run_id: str, event_key: str, entry: KeyEntry) -> None:
        keys = self._keys.get(run_id)
        if keys is None:
            keys = self._keys[run_id] = {}
        keys[event_key] = entry


class LaneState(_Layer):
    """One lane's committed state. Of a lane too big to cache, only the keys that commands name are loaded.

    A new one is a lane that nothing was ever written to. It implements ``LaneView``.
    """

    __slots__ = ("_absent", "_bytes", "keys_complete")

    def __init__(self, lane: str) -> None:
        super().__init__(lane, 1)
        self.keys_complete = True
        self._absent: set[tuple[str, str]] = set()
        self._bytes = _LANE_BYTES

    @classmethod
    def restore(
        cls,
        lane: str,
        *,
        next_lane_seq: int = 1,
        session: SessionState | None = None,
        runs: Iterable[tuple[RunState, int]] = (),
        claim: RunClaim | None = None,
        keys: Iterable[tuple[str, str, KeyEntry]] = (),
        keys_complete: bool = True,
    ) -> Self:
        """Build the state that journal rows describe; ``runs`` come with their next ``seq``."""
        state = cls(lane)
        state.next_lane_seq = next_lane_seq
        state._session = session
        for run, next_seq in runs:
            state._put_run(run)
            state._next_seq[run.run_id] = next_seq
        if claim is not None:
            state._claims[claim.run_id] = claim
        for run_id, event_key, entry in keys:
            state._put_key(run_id, event_key, entry)
        state.keys_complete = keys_complete
        return state

    @property
    def accounted_bytes(self) -> int:
        """An estimate of the memory that the lane holds, for the cache's bound."""
        return self._bytes

    @property
    def session(self) -> SessionState | None:
        """The session of an ``s/`` lane, None when it was never created."""
        return self._session

    def run(self, run_id: str) -> RunState | None:
        """Return the run, or None when it never started here or was purged."""
        return self._runs.get(run_id)

    def next_seq(self, run_id: str) -> int:
        """Return the ``seq`` of the run's next record, 1 for a run without records."""
        return self._next_seq.get(run_id, 1)

    def runs(self) -> Iterator[RunState]:
        """Iterate over all runs of the lane."""
        return iter(self._runs.values())

    def key(self, run_id: str, event_key: str) -> KeyEntry | None:
        """Return the entry of a used event key, or None.

        Raises ``KeysNotLoaded`` for a key of a partly loaded lane that was never looked for.
        """
        keys = self._keys.get(run_id)
        entry = None if keys is None else keys.get(event_key)
        if entry is None and not self.keys_complete and (run_id, event_key) not in self._absent:
            raise KeysNotLoaded(f"a key of lane {self.lane!r} was not loaded")
        return entry

    def claim(self, run_id: str) -> RunClaim | None:
        """Return who holds ``run_id``; only the lane ``r/<run id>`` knows."""
        return self._claims.get(run_id)

    def missing_keys(self, pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Return those of ``pairs`` (run id, event key) to load before a command naming them is decided."""
        if self.keys_complete:
            return ()
        return tuple(
            pair for pair in pairs if pair not in self._absent and pair[1] not in self._keys.get(pair[0], {})
        )

    def learn_keys(
        self, asked: Collection[tuple[str, str]], found: Mapping[tuple[str, str], KeyEntry]
    ) -> None:
        """Take the answer of a point read: ``found`` are the entries of ``asked`` that exist."""
        for pair in asked:
            entry = found.get(pair)
            if entry is None:
                self._bytes += _KEY_BYTES + len(pair[1])
                self._absent.add(pair)
            else:
                self._put_key(*pair, entry)

    def _purge(self) -> None:
        super()._purge()
        self._absent.clear()
        self.keys_complete = True
        self._bytes = _LANE_BYTES

    def _put_run(self, run: RunState) -> None:
        if run.run_id not in self._runs:
            self._bytes += _RUN_BYTES + sum(len(key) + len(value) for key, value in run.labels.items())
        super()._put_run(run)

    def _put_key(self, run_id: str, event_key: str, entry: KeyEntry) -> None:
        super()._put_key(run_id, event_key, entry)
        if (run_id, event_key) in self._absent:
            self._absent.remove((run_id, event_key))
        else:
            self._bytes += _KEY_BYTES + len(event_key)


class Overlay(_Layer):
    """Changes over a lane that is left as it is: what a block decided before it is committed.

    ``base`` may be an overlay itself, and may be exchanged for one that says the same. It implements
    ``LaneView``.
    """

    __slots__ = ("_hidden", "base")

    def __init__(self, base: LaneView) -> None:
        super().__init__(base.lane, base.next_lane_seq)
        self.base = base
        self._hidden = False

    @property
    def session(self) -> SessionState | None:
        """The session of an ``s/`` lane, None when it was never created."""
        return self._session or self.base.session

    def run(self, run_id: str) -> RunState | None:
        """Return the run, or None when it never started here or was purged."""
        run = self._runs.get(run_id)
        return run if run is not None or self._hidden else self.base.run(run_id)

    def next_seq(self, run_id: str) -> int:
        """Return the ``seq`` of the run's next record, 1 for a run without records."""
        seq = self._next_seq.get(run_id)
        if seq is not None:
            return seq
        return 1 if self._hidden else self.base.next_seq(run_id)

    def runs(self) -> Iterator[RunState]:
        """Iterate over all runs of the lane."""
        yield from self._runs.values()
        if not self._hidden:
            yield from (run for run in self.base.runs() if run.run_id not in self._runs)

    def key(self, run_id: str, event_key: str) -> KeyEntry | None:
        """Return the entry of a used event key, or None; raises what the base raises."""
        keys = self._keys.get(run_id)
        entry = None if keys is None else keys.get(event_key)
        return entry if entry is not None or self._hidden else self.base.key(run_id, event_key)

    def claim(self, run_id: str) -> RunClaim | None:
        """Return who holds ``run_id``; only the lane ``r/<run id>`` knows."""
        return self._claims.get(run_id) or self.base.claim(run_id)

    def _purge(self) -> None:
        super()._purge()
        self._hidden = True
