"""From a record to the events that a product UI follows; a pure function (contract 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final, Protocol

from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads import (
    CHILD_RUN_LINKED,
    RUN_COMPLETED,
    RUN_SUSPENDED,
    TRANSCRIPT_APPENDED,
    AssistantMessage,
    AwaitClarification,
    AwaitConfirmation,
    AwaitExternalTools,
    AwaitQuestions,
    Hook,
    PlannerNote,
    PromptRendered,
    RunPhaseChanged,
    ThinkingBlock,
    ToolAuthorization,
    ToolCallScheduled,
    ToolCallUpdated,
    ToolResultReceived,
    TranscriptAppended,
    Usage,
    decode_child_run_linked,
    decode_hook,
    decode_run_completed,
    decode_run_suspended,
)
from runlane.contract.stream import awaits, plain, tools
from runlane.contract.stream.events import StreamEvent
from runlane.contract.stream.types import DEFAULT, Profile, StreamType
from runlane.transcript import assistant_turns, encode_message


class StreamSource(Protocol):
    """What the mapping needs of a record; ``RunRecord`` and ``CommittedRecord`` have it."""

    @property
    def type(self) -> str:
        """The record type."""
        ...

    @property
    def run_id(self) -> str:
        """The run that the record belongs to."""
        ...

    @property
    def session_id(self) -> str:
        """Its session; empty for a sessionless run."""
        ...

    @property
    def event_key(self) -> str:
        """The key inside its run."""
        ...

    @property
    def timestamp(self) -> datetime | None:
        """When it happened."""
        ...

    @property
    def payload(self) -> bytes:
        """The stored bytes."""
        ...


def stream_events(record: StreamSource, profile: Profile = DEFAULT) -> tuple[StreamEvent, ...]:
    """Return the events of one record, in order; none for a type that has no event or is unknown.

    Whether they may be sent at all is ``may_stream``'s to say: the mapping looks at no session. A type that
    the profile leaves out is not even decoded. ``InvalidCommand`` for a payload that breaks a rule.
    """
    rule = _ORDINARY.get(record.type)
    if rule is not None:
        kind, payload_of = rule
        return _ordinary(record, kind, payload_of) if kind in profile else ()
    several = _SEVERAL.get(record.type)
    if several is None:
        return ()
    kind, events_of = several
    return tuple(events_of(record)) if kind in profile else ()


def _event(
    record: StreamSource,
    kind: StreamType,
    payload: bytes,
    *,
    suffix: str = "",
    server_data: bytes | None = None,
) -> StreamEvent:
    if record.timestamp is None:
        raise InvalidCommand("a record without a time has no stream event", code="time_required")
    return StreamEvent(
        kind,
        record.run_id,
        record.session_id,
        record.event_key + suffix,
        record.timestamp,
        payload,
        server_data,
    )


def _ordinary(record: StreamSource, kind: StreamType, payload_of: _PayloadOf) -> tuple[StreamEvent, ...]:
    event = decode_hook(record.type, record.payload)
    payload = payload_of(event)
    if payload is None:
        return ()
    beside = awaits.present(event.server_data) if isinstance(event, ToolResultReceived) else None
    return (_event(record, kind, payload.encode(), server_data=beside),)


def _linked(record: StreamSource) -> Iterator[StreamEvent]:
    payload = plain.linked_payload(decode_child_run_linked(record.payload))
    yield _event(record, StreamType.CHILD_RUN_LINKED, payload)


def _turns(record: StreamSource) -> Iterator[StreamEvent]:
    event = decode_hook(record.type, record.payload)
    assert isinstance(event, TranscriptAppended), "its type says so"
    for index, _text in assistant_turns(event.messages):
        message = event.messages[index]
        assert message is not None, "it has a role"
        payload = plain.AssistantTurnPayload(message=encode_message(message)).encode()
        yield _event(record, StreamType.ASSISTANT_TURN, payload, suffix=f"/assistant/{index}")


def _completed(record: StreamSource) -> Iterator[StreamEvent]:
    yield from _end(record, plain.ended_payload(decode_run_completed(record.payload)))


def _suspended(record: StreamSource) -> Iterator[StreamEvent]:
    decode_run_suspended(record.payload)
    yield from _end(record, plain.SUSPENDED)


def _end(record: StreamSource, payload: bytes) -> Iterator[StreamEvent]:
    yield _event(record, StreamType.WORKFLOW, payload)
    end = StreamType.RUN_STREAM_END
    yield _event(record, end, b"{}", suffix=f"/{end}")


_PayloadOf = Callable[[Any], Hook | None]

_ORDINARY: Final[dict[str, tuple[StreamType, _PayloadOf]]] = {
    AssistantMessage.record_type: (StreamType.ASSISTANT_REPLY, plain.AssistantReplyPayload.of),
    AwaitClarification.record_type: (StreamType.AWAIT_CLARIFICATION, awaits.AwaitClarificationPayload.of),
    AwaitConfirmation.record_type: (StreamType.AWAIT_CONFIRMATION, awaits.AwaitConfirmationPayload.of),
    AwaitExternalTools.record_type: (StreamType.AWAIT_EXTERNAL_TOOLS, awaits.AwaitExternalToolsPayload.of),
    AwaitQuestions.record_type: (StreamType.AWAIT_QUESTIONS, awaits.AwaitQuestionsPayload.of),
    PlannerNote.record_type: (StreamType.PLANNER_THOUGHT, plain.PlannerThoughtPayload.of_note),
    PromptRendered.record_type: (StreamType.PROMPT_RENDERED, plain.PromptRenderedPayload.of),
    RunPhaseChanged.record_type: (StreamType.WORKFLOW, plain.PhasePayload.of),
    ThinkingBlock.record_type: (StreamType.PLANNER_THOUGHT, plain.PlannerThoughtPayload.of_thinking),
    ToolAuthorization.record_type: (StreamType.TOOL_AUTHORIZATION, awaits.ToolAuthorizationPayload.of),
    ToolCallScheduled.record_type: (StreamType.TOOL_START, tools.ToolStartPayload.of),
    ToolCallUpdated.record_type: (StreamType.TOOL_UPDATE, tools.ToolUpdatePayload.of),
    ToolResultReceived.record_type: (StreamType.TOOL_END, tools.ToolEndPayload.of),
    Usage.record_type: (StreamType.USAGE, lambda usage: usage),
}
_SEVERAL: Final[dict[str, tuple[StreamType, Callable[[StreamSource], Iterator[StreamEvent]]]]] = {
    CHILD_RUN_LINKED: (StreamType.CHILD_RUN_LINKED, _linked),
    RUN_COMPLETED: (StreamType.WORKFLOW, _completed),
    RUN_SUSPENDED: (StreamType.WORKFLOW, _suspended),
    TRANSCRIPT_APPENDED: (StreamType.ASSISTANT_TURN, _turns),
}
