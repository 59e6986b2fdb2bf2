"""The pure decision over one lane: ``decide(view, command, meta) -> Decision`` (design, Deciding)."""

from runlane.contract.decide.decision import Decision, Meta
from runlane.contract.decide.engine import decide
from runlane.contract.decide.lane import KeysNotLoaded, LaneState, Overlay
from runlane.contract.decide.routing import home_lane, named_keys

__all__ = [
    "Decision",
    "KeysNotLoaded",
    "LaneState",
    "Meta",
    "Overlay",
    "decide",
    "home_lane",
    "named_keys",
]
