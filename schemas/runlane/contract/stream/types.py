"""The types of stream events, and the profiles that choose among them (contract 8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class StreamType(StrEnum):
    """What a committed record can become on the stream."""

    ASSISTANT_REPLY = "assistant_reply"
    ASSISTANT_TURN = "assistant_turn"
    AWAIT_CLARIFICATION = "await_clarification"
    AWAIT_CONFIRMATION = "await_confirmation"
    AWAIT_EXTERNAL_TOOLS = "await_external_tools"
    AWAIT_QUESTIONS = "await_questions"
    CHILD_RUN_LINKED = "child_run_linked"
    PLANNER_THOUGHT = "planner_thought"
    PROMPT_RENDERED = "prompt_rendered"
    RUN_STREAM_END = "run_stream_end"
    TOOL_AUTHORIZATION = "tool_authorization"
    TOOL_END = "tool_end"
    TOOL_START = "tool_start"
    TOOL_UPDATE = "tool_update"
    USAGE = "usage"
    WORKFLOW = "workflow"


@dataclass(frozen=True, slots=True)
class Profile:
    """Which types a consumer gets: ``USER_CHAT.without(StreamType.USAGE)``.

    The end mark belongs to the workflow: a profile holds both or neither (C365).
    """

    types: frozenset[StreamType]

    def __post_init__(self) -> None:
        both = {StreamType.WORKFLOW, StreamType.RUN_STREAM_END}
        types = self.types | both if StreamType.WORKFLOW in self.types else self.types - both
        object.__setattr__(self, "types", types)

    def __contains__(self, type: StreamType) -> bool:  # noqa: A002 - the contract's own word
        return type in self.types

    def without(self, *types: StreamType) -> Profile:
        """Return the profile that lets these types through no more."""
        return Profile(self.types.difference(types))


DEFAULT: Final = Profile(frozenset(StreamType))
USER_CHAT: Final = Profile(frozenset(StreamType))
AGENT_DEBUG: Final = Profile(frozenset(StreamType))
METRICS: Final = Profile(frozenset({StreamType.USAGE, StreamType.WORKFLOW}))

PROFILES: Final = {
    "default": DEFAULT,
    "user_chat": USER_CHAT,
    "agent_debug": AGENT_DEBUG,
    "metrics": METRICS,
}
"""The profiles by name; the first three let everything through (contract 8)."""
