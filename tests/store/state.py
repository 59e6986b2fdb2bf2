"""Whether two lane states are the same, whatever order their dictionaries were filled in."""

from typing import Any

from runlane.contract.decide import LaneState


def facts(state: LaneState) -> dict[str, Any]:
    """Return all that a lane's state holds."""
    keys = {run_id: dict(keys) for run_id, keys in state._keys.items() if keys}
    return {
        "lane": state.lane,
        "next_lane_seq": state.next_lane_seq,
        "session": state.session,
        "runs": {run.run_id: run for run in state.runs()},
        "next_seq": {run.run_id: state.next_seq(run.run_id) for run in state.runs()},
        "keys": keys,
        "claims": dict(state._claims),
    }


def same_state(one: LaneState, other: LaneState) -> bool:
    """Compare them; a failed comparison shows the two dictionaries in pytest's report."""
    assert facts(one) == facts(other)
    return True
