"""Payloads of the other stream events (contract 8): snake case, the contract's order."""

from __future__ import annotations

from typing import Annotated, Final, Self

from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads import (
    AssistantMessage,
    ChildRunLinked,
    Hook,
    PlannerNote,
    PromptRendered,
    PromptScope,
    RawJson,
    RunCompleted,
    RunPhaseChanged,
    ThinkingBlock,
)
from runlane.contract.payloads.hook import OMITTED_WHEN_EMPTY, Base64, Int64
from runlane.contract.payloads.text import dump
from runlane.contract.stream.awaits import OmittedText

SUSPENDED: Final = b'{"phase":"suspended","status":"suspended"}'
"""The workflow payload of a run that was suspended (C355)."""

_LAST_PHASES: Final = frozenset({"completed", "failed", "canceled", "suspended"})


class AssistantReplyPayload(Hook):
    """What the assistant said."""

    text: str

    @classmethod
    def of(cls, event: AssistantMessage) -> Self:
        """Build the payload of a record."""
        return cls(text=event.message)


class AssistantTurnPayload(Hook):
    """One committed message of the assistant, as the canonical bytes of the transcript."""

    message: RawJson = None


class PlannerThoughtPayload(Hook):
    """A note, or a block of thinking; ``note`` repeats the text of a block that is not final."""

    note: OmittedText = ""
    text: OmittedText = ""
    signature: OmittedText = ""
    redacted: Annotated[Base64, OMITTED_WHEN_EMPTY] = None
    content_index: Annotated[Int64, OMITTED_WHEN_EMPTY] = 0
    final: Annotated[bool, OMITTED_WHEN_EMPTY] = False

    @classmethod
    def of_note(cls, event: PlannerNote) -> Self:
        """Build the payload of a note."""
        return cls(note=event.note)

    @classmethod
    def of_thinking(cls, event: ThinkingBlock) -> Self:
        """Build the payload of a block of thinking."""
        return cls(
            note="" if event.final else event.text,
            text=event.text,
            signature=event.signature,
            redacted=event.redacted,
            content_index=event.content_index,
            final=event.final,
        )


class PromptRenderedPayload(Hook):
    """A prompt template was rendered; the scope keeps its Go-cased keys."""

    prompt_id: str
    version: str
    scope: PromptScope

    @classmethod
    def of(cls, event: PromptRendered) -> Self:
        """Build the payload of a record."""
        return cls(prompt_id=event.prompt_id, version=event.version, scope=event.scope)


class PhasePayload(Hook):
    """The phase that a running run is in."""

    phase: str

    @classmethod
    def of(cls, event: RunPhaseChanged) -> Self | None:
        """Build the payload of a record; None for a last phase, which the run's end tells."""
        return None if event.phase in _LAST_PHASES else cls(phase=event.phase)


def linked_payload(link: ChildRunLinked) -> bytes:
    """Return the payload of ``child_run_linked``."""
    return dump(
        {
            "tool_name": link.tool_name,
            "tool_call_id": link.tool_call_id,
            "child_run_id": link.child_run_id,
            "child_agent_id": link.child_agent_id,
        }
    )


def ended_payload(completed: RunCompleted) -> bytes:
    """Return the workflow payload of a run that ended; ``InvalidCommand`` without a phase."""
    if not completed.phase:
        raise InvalidCommand("run_completed has no phase", code="phase_required")
    value: dict[str, object] = {"phase": completed.phase, "status": completed.status}
    if completed.failure is not None:
        value["failure"] = completed.failure.as_json()
    if completed.cancellation is not None:
        value["cancellation"] = {"reason": completed.cancellation.reason}
    return dump(value)
