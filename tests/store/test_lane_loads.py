"""G9: a lane's state is what its rows say."""

import pytest

from runlane.contract.state import KeyEntry
from runlane.store import ClientPool, LaneReader
from tests.store.make import (
    Chain,
    append,
    claim,
    complete,
    create,
    end,
    one_shot,
    purge,
    start,
    suspend,
)

ROOM = 64 * 1024 * 1024


def same(loaded, applied) -> None:
    assert loaded.next_lane_seq == applied.next_lane_seq
    assert loaded.session == applied.session
    assert {run.run_id: run for run in loaded.runs()} == {run.run_id: run for run in applied.runs()}
    assert loaded._keys == applied._keys
    assert loaded._claims == applied._claims
    for run in applied.runs():
        assert loaded.next_seq(run.run_id) == applied.next_seq(run.run_id)


def fill(chain: Chain) -> None:
    chain.commit(("s/s", create()), ("r/run", claim("run")), ("r/run2", claim("run2")), ("r/solo", one_shot("solo")))
    chain.commit(("s/s", start("run")), ("s/s", append("a", "run")), ("s/s", start("run2")), ("s/s", append("a", "run")))
    chain.commit(("r/solo", append("x", "solo", "")), ("s/s", suspend("run2")), ("s/s", append("late", "run2")))
    chain.commit(("s/s", append("b", "run", payload='{"Note":"ü\\u0000"}'.encode())), ("s/s", complete("run")))


@pytest.mark.guarantee("G9")
def test_a_lane_loads_as_it_was_applied(chain: Chain, journal: ClientPool):
    fill(chain)
    loaded = LaneReader(journal).load_lanes(tuple(chain.lanes), max_bytes=ROOM)
    assert set(loaded) == set(chain.lanes)
    for lane, applied in chain.lanes.items():
        same(loaded[lane], applied)
        assert loaded[lane].keys_complete


@pytest.mark.guarantee("G9")
def test_a_purged_lane_loads_as_its_tombstone(chain: Chain, journal: ClientPool):
    fill(chain)
    chain.commit(("s/s", end()), ("s/s", purge()), ("s/s", append("c", "run")))
    same(LaneReader(journal).load("s/s", max_bytes=ROOM), chain.lanes["s/s"])


def test_a_lane_that_nothing_was_written_to_is_empty(journal: ClientPool):
    state = LaneReader(journal).load("s/nobody", max_bytes=ROOM)
    assert (state.next_lane_seq, state.session, list(state.runs()), state.keys_complete) == (1, None, [], True)


def test_a_lane_too_big_comes_without_its_keys_but_with_its_counters(chain: Chain, journal: ClientPool):
    fill(chain)
    applied = chain.lanes["s/s"]
    reader = LaneReader(journal)
    state = reader.load("s/s", max_bytes=1_500)
    assert not state.keys_complete
    assert (state.next_lane_seq, state.session) == (applied.next_lane_seq, applied.session)
    assert [state.next_seq(run.run_id) for run in state.runs()] == [applied.next_seq(run.run_id) for run in state.runs()]
    asked = (("run", "a"), ("run2", "a"), ("run", "none"))
    found = reader.load_keys("s/s", asked)
    assert found == {("run", "a"): applied.key("run", "a")}
    assert isinstance(found["run", "a"], KeyEntry)
    state.learn_keys(asked, found)
    assert state.key("run2", "a") is None
