"""A lane's state, the layers over it, and the events of the lane itself."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from runlane.contract.commands import ClaimReceipt
from runlane.contract.decide import KeysNotLoaded, LaneState, Meta, Overlay, decide
from runlane.contract.state import LaneView, SessionState
from runlane.contract.values import CommittedRecord, SessionStatus
from tests.contract.cases.world import NOTE, T0, Make

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
META = Meta(NOW, partition=3, block=7, host_authorized=True, receipt_valid=True)
MAKE = Make("")
ROOT = replace(MAKE.root(), receipt=ClaimReceipt("run", "s/session", 3, 7, "key", b"mac"))


@pytest.fixture
def lane() -> LaneState:
    """A session with one running run."""
    state = LaneState("s/session")
    for command in (MAKE.create(), ROOT):
        state.apply(decide(state, command, META).changes)
    return state


def test_a_record_is_committed_with_all_that_a_reader_needs(lane: LaneState) -> None:
    changes = decide(lane, MAKE.append(), META).changes
    assert changes.records == (
        CommittedRecord(
            lane="s/session",
            lane_seq=3,
            seq=2,
            run_id="run",
            agent_id="agent",
            session_id="session",
            turn_id="turn-1",
            event_key="note",
            type="planner_note",
            payload=NOTE,
            timestamp=T0,
            committed_at=NOW,
            session_status=SessionStatus.ACTIVE,
            partition=3,
            block=7,
        ),
    )
    assert changes.runs == ()
    assert [key[:2] for key in changes.keys] == [("run", "note")]


def test_a_session_leaves_events_in_its_lane(lane: LaneState) -> None:
    ended = decide(lane, MAKE.end_session(), META).changes
    lane.apply(ended)
    lane.apply(decide(lane, MAKE.end(), META).changes)
    purged = decide(lane, MAKE.purge(), META).changes
    assert purged.purged
    assert purged.session == SessionState("session", None, purged=True)
    events = [*ended.records, *purged.records]
    assert [(event.type, event.event_key) for event in events] == [
        ("session_ended", "session_ended"),
        ("session_purged", "session_purged"),
    ]
    assert [(event.run_id, event.agent_id, event.seq) for event in events] == [("", "", 0)] * 2
    assert [event.session_status for event in events] == [SessionStatus.ENDED, SessionStatus.NONE]
    at = [{"session_id": "session", "at": T0.isoformat()}, {"session_id": "session", "at": NOW.isoformat()}]
    assert [json.loads(event.payload) for event in events] == at


def test_a_purge_drops_runs_and_keys_but_not_the_order(lane: LaneState) -> None:
    for command in (MAKE.end(), MAKE.end_session(), MAKE.purge()):
        lane.apply(decide(lane, command, META).changes)
    assert list(lane.runs()) == []
    assert lane.key("run", "run-start") is None
    assert lane.next_seq("run") == 1
    assert lane.next_lane_seq == 6


def test_changes_are_applied_once_and_in_order(lane: LaneState) -> None:
    changes = decide(lane, MAKE.append(), META).changes
    lane.apply(changes)
    with pytest.raises(ValueError, match="lane_seq 3 where 4 is next"):
        lane.apply(changes)


def test_an_overlay_leaves_its_base_alone(lane: LaneState) -> None:
    overlay = Overlay(lane)
    overlay.apply(decide(overlay, MAKE.end(), META).changes)
    above = Overlay(overlay)
    for view, expected in ((lane, 2), (overlay, 3), (above, 3)):
        assert view.next_seq("run") == expected
        assert (view.key("run", "end") is None) == (view is lane)
    run = lane.run("run")
    assert run is not None
    assert not run.status.terminal
    assert decide(above, MAKE.append(), META).error is not None


def test_an_overlay_may_get_a_base_that_says_the_same(lane: LaneState) -> None:
    below = Overlay(lane)
    changes = decide(below, MAKE.append(), META).changes
    below.apply(changes)
    above = Overlay(below)
    above.apply(decide(above, MAKE.append("second"), META).changes)
    lane.apply(changes)
    above.base = lane
    assert decide(above, MAKE.append(), META).changes.empty
    assert above.next_lane_seq == 5


@pytest.mark.parametrize("layer", [lambda lane: lane, Overlay])
def test_a_purged_overlay_hides_what_is_under_it(
    lane: LaneState, layer: Callable[[LaneState], LaneState | Overlay]
) -> None:
    view = layer(lane)
    for command in (MAKE.end(), MAKE.end_session(), MAKE.purge()):
        view.apply(decide(view, command, META).changes)
    assert list(view.runs()) == []
    assert (view.run("run"), view.key("run", "run-start"), view.next_seq("run")) == (None, None, 1)


def test_a_partly_loaded_lane_never_takes_an_unread_key_for_a_free_one(lane: LaneState) -> None:
    run = lane.run("run")
    entry = lane.key("run", "run-start")
    assert run is not None
    assert entry is not None
    partial = LaneState.restore(
        "s/session",
        next_lane_seq=3,
        session=lane.session,
        runs=[(run, 2)],
        keys=[("run", "run-start", entry)],
        keys_complete=False,
    )
    with pytest.raises(KeysNotLoaded):
        decide(partial, MAKE.append(), META)
    asked = [("run", "run-start"), ("run", "note")]
    assert partial.missing_keys(asked) == (("run", "note"),)
    partial.learn_keys([("run", "note")], {})
    assert partial.missing_keys(asked) == ()
    decision = decide(partial, MAKE.append(), META)
    assert decision == decide(lane, MAKE.append(), META)
    partial.apply(decision.changes)
    assert partial.missing_keys(asked) == ()
    assert decide(partial, MAKE.append(), META).changes.empty


def test_the_accounted_bytes_grow_with_runs_and_keys_and_fall_with_a_purge(lane: LaneState) -> None:
    before = lane.accounted_bytes
    lane.apply(decide(lane, MAKE.append(), META).changes)
    grown = lane.accounted_bytes
    assert grown > before > LaneState("s/session").accounted_bytes
    for command in (MAKE.end(), MAKE.end_session(), MAKE.purge()):
        lane.apply(decide(lane, command, META).changes)
    assert lane.accounted_bytes < before


def test_both_layers_are_views() -> None:
    views: list[LaneView] = [LaneState("s/session"), Overlay(LaneState("s/session"))]
    assert [view.next_lane_seq for view in views] == [1, 1]
