import pytest

from runlane.contract.commands import EndSession, PurgeSession, RecordRunCancellation
from runlane.contract.decide import KeysNotLoaded, LaneState
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.payloads import CancellationIntent
from tests.store.state import same_state
from tests.store.world import (
    NOON,
    World,
    a_child,
    a_note,
    a_record,
    a_shot,
    a_shot_child,
    a_start,
    completed,
    suspended,
)

ROOM = 10**9


def test_a_lane_that_nothing_was_written_to_is_empty(world: World) -> None:
    loaded = world.lanes.load_lanes(["s/none", "r/none"], max_bytes=ROOM)
    assert same_state(loaded["s/none"], LaneState("s/none"))
    assert loaded["r/none"].keys_complete
    assert world.lanes.load_lanes([], max_bytes=ROOM) == {}
    assert world.lanes.load_keys("s/none", []) == {}


@pytest.mark.guarantee("G9")
def test_loaded_lanes_are_what_their_blocks_made_of_them(world: World) -> None:
    run, child = a_start("run", "a"), a_start("child", "a", "run")
    lane = world.session(0, "a")
    world.start(0, run)
    intent = a_record(
        child, "child/cancel", "runtime.cancellation_intent", CancellationIntent(reason="stop").encode()
    )
    world.commit(
        0,
        (lane, a_note(run, 1)),
        (lane, a_child(run, child)),
        (lane, RecordRunCancellation("child", "stop", intent)),
        (lane, suspended(run, bytes(range(256)))),
    )
    world.commit(0, (lane, EndSession("a", NOON)))
    shot, shot_child = a_start("shot"), a_start("shot-child", parent="shot")
    root = run_lane("shot")
    world.commit(
        1, (root, a_shot(shot)), (root, a_shot_child(shot, shot_child)), (root, completed(shot_child))
    )
    loaded = world.lanes.load_lanes([*world.states, "s/none"], max_bytes=ROOM)
    assert len(list(world.states[lane].runs())) == 2
    assert len(list(world.states[root].runs())) == 2
    for name, state in world.states.items():
        assert same_state(loaded[name], state), name
        assert loaded[name].keys_complete


def test_a_lane_larger_than_the_bound_comes_without_its_keys(world: World) -> None:
    run = a_start("run", "a")
    lane = world.session(0, "a")
    world.start(0, run)
    world.commit(0, *((lane, a_note(run, number)) for number in range(50)))
    for room in (10_000, world.states[lane].accounted_bytes - 1):
        loaded = world.lanes.load(lane, max_bytes=room)
        assert not loaded.keys_complete
        assert (loaded.next_seq("run"), loaded.next_lane_seq) == (52, world.states[lane].next_lane_seq)
        assert loaded.run("run") == world.states[lane].run("run")
        with pytest.raises(KeysNotLoaded):
            loaded.key("run", "run/note-3")
    pairs = [("run", "run/note-3"), ("run", "none"), ("other", "run/note-3"), ("run", "run/started")]
    loaded.learn_keys(pairs, world.lanes.load_keys(lane, pairs))
    assert loaded.key("run", "run/note-3") == world.states[lane].key("run", "run/note-3")
    assert loaded.key("run", "none") is None
    assert loaded.key("other", "run/note-3") is None
    assert world.lanes.load(lane, max_bytes=ROOM).keys_complete


def test_a_purged_lane_is_only_its_tombstone_before_and_after_its_erase(world: World) -> None:
    run = a_start("run", "a")
    lane = world.session(0, "a")
    world.start(0, run)
    world.commit(0, (lane, completed(run)), (lane, EndSession("a", NOON)))
    world.commit(0, (lane, PurgeSession("a")))
    assert same_state(world.lanes.load(lane, max_bytes=ROOM), world.states[lane])
    world.erase(lane)
    assert same_state(world.lanes.load(lane, max_bytes=ROOM), world.states[lane])
    assert same_state(world.lanes.load(run_lane("run"), max_bytes=ROOM), world.states[run_lane("run")])


def test_names_with_quotes_and_backslashes_are_found(world: World) -> None:
    name = "a'b\\c\"{x:String}%s\\'"
    run = a_start(f"run {name}", name)
    lane = world.session(0, name)
    world.start(0, run)
    world.commit(0, (lane, a_note(run, 1)))
    assert same_state(world.lanes.load(session_lane(name), max_bytes=ROOM), world.states[lane])
    key = f"{run.run_id}/note-1"
    assert world.lanes.load_keys(lane, [(run.run_id, key)]) == {
        (run.run_id, key): world.states[lane].key(run.run_id, key)
    }


def test_many_lanes_with_long_names_load_at_once(world: World) -> None:
    lanes = [run_lane(f"{number:03}" + "'" * 253) for number in range(450)]
    assert set(world.lanes.load_lanes(lanes, max_bytes=ROOM)) == set(lanes)
    pairs = [(f"{number:03}" + "'" * 253, f"{number:03}" + "\\" * 253) for number in range(450)]
    assert world.lanes.load_keys(lanes[0], pairs) == {}
