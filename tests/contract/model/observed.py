"""A backend that decides every command in four ways at once, and keeps the journal to fold."""

from __future__ import annotations

from collections.abc import Iterable

from runlane.contract.commands import Command
from runlane.contract.decide import Decision, LaneState, Meta, Overlay, decide, named_keys
from runlane.contract.outcomes import Result
from runlane.contract.state import Changes, KeyEntry, RunState
from tests.contract.cases.decide_backend import DecideBackend


def snapshot(lane: LaneState) -> tuple[object, ...]:
    """All that a lane's state says."""
    return (
        lane.lane,
        lane.next_lane_seq,
        lane.session,
        {run.run_id: (run, lane.next_seq(run.run_id)) for run in lane.runs()},
        {run_id: keys for run_id, keys in lane._keys.items() if keys},
        lane._claims,
    )


def folded(lane: str, journal: Iterable[Changes]) -> LaneState:
    """The state that the changes make, from an empty lane (G9)."""
    state = LaneState(lane)
    for changes in journal:
        state.apply(changes)
    return state


def last_rows(journal: Iterable[Changes]) -> tuple[dict[str, RunState], dict[tuple[str, str], KeyEntry]]:
    """The last row of each run and all keys, as a reader of the journal sees them."""
    runs: dict[str, RunState] = {}
    keys: dict[tuple[str, str], KeyEntry] = {}
    for changes in journal:
        if changes.purged:
            runs, keys = {}, {}
        runs |= {run.run_id: run for run in changes.runs}
        keys |= {(run_id, key): entry for run_id, key, entry in changes.keys}
    return runs, keys


def with_named_keys_only(state: LaneState, journal: list[Changes], command: Command) -> LaneState:
    """The lane as it is loaded when it is too big: only the keys that the command names."""
    runs, keys = last_rows(journal)
    partial = LaneState.restore(
        state.lane,
        next_lane_seq=state.next_lane_seq,
        session=state.session,
        runs=[(run, state.next_seq(run.run_id)) for run in runs.values()],
        claim=next(iter(state._claims.values()), None),
        keys_complete=False,
    )
    asked = partial.missing_keys(named_keys(command))
    partial.learn_keys(asked, {pair: keys[pair] for pair in asked if pair in keys})
    assert partial.missing_keys(named_keys(command)) == ()
    return partial


class ObservedBackend(DecideBackend):
    """Decides in the committed lane, in overlays over an old state, and in a partly loaded lane."""

    def __init__(self) -> None:
        super().__init__()
        self.journal: dict[str, list[Changes]] = {}
        self.overlays: dict[str, Overlay] = {}
        self.changed = False

    def commit_overlays(self) -> None:
        """Start new overlays over what is committed now; until then they grow over an older state."""
        self.overlays = {}

    def _run(self, lane: str, command: Command) -> Result:
        changes = self.journal.setdefault(lane, [])
        state = self.lane(lane)
        overlay = self.overlays.get(lane)
        if overlay is None:
            below = Overlay(folded(lane, changes))
            overlay = self.overlays[lane] = Overlay(below)
        self.block += 1
        meta = self._meta()
        self.block -= 1
        decision = self._same_everywhere(state, overlay, command, meta)
        self.changed = not decision.changes.empty
        changes.append(decision.changes)
        overlay.apply(decision.changes)
        return super()._run(lane, command)

    def _same_everywhere(self, state: LaneState, overlay: Overlay, command: Command, meta: Meta) -> Decision:
        before = snapshot(state)
        decision = decide(state, command, meta)
        assert snapshot(state) == before, "deciding changes nothing by itself"
        assert decide(state, command, meta) == decision, "the same state decides the same"
        assert decide(overlay, command, meta) == decision, "an overlay says what is under it"
        changes = self.journal[state.lane]
        assert decide(with_named_keys_only(state, changes, command), command, meta) == decision
        return decision
