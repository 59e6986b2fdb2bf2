"""From an event to its record and back, for every type that the contract knows (contract 1.8 to 1.10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import ValidationError

from runlane import transcript
from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads import hooks
from runlane.contract.payloads.hook import Hook
from runlane.contract.payloads.lifecycle import (
    CancellationIntent,
    ChildRunLinked,
    RunCompleted,
    RunStarted,
    RunSuspended,
    decode_cancellation_intent,
    decode_child_run_linked,
    decode_run_completed,
    decode_run_started,
    decode_run_suspended,
    validation_rule,
)
from runlane.contract.payloads.rejections import ModelOutputRejected, PlannerOutputRejected
from runlane.contract.payloads.tool_result import ToolResultReceived
from runlane.contract.payloads.tree import parse
from runlane.contract.payloads.types import (
    CANCELLATION_INTENT,
    CHILD_RUN_LINKED,
    RUN_COMPLETED,
    RUN_STARTED,
    RUN_SUSPENDED,
    TRANSCRIPT_APPENDED,
    TRANSCRIPT_SEEDED,
)
from runlane.contract.values import CommittedRecord, RunRecord
from runlane.strictjson import StrictJsonError


@dataclass(frozen=True, slots=True)
class TranscriptSeeded:
    """Messages that a run starts with."""

    messages: tuple[transcript.Message | None, ...]

    def encode(self) -> bytes:
        """Return the canonical bytes of the messages."""
        return _encode_messages(self.messages)


@dataclass(frozen=True, slots=True)
class TranscriptAppended:
    """Messages that a run added."""

    messages: tuple[transcript.Message | None, ...]

    def encode(self) -> bytes:
        """Return the canonical bytes of the messages."""
        return _encode_messages(self.messages)


Lifecycle = RunStarted | RunCompleted | RunSuspended | ChildRunLinked | CancellationIntent
HookEvent = Lifecycle | TranscriptSeeded | TranscriptAppended | Hook

_HOOKS: Final[dict[str, type[Hook]]] = {
    model.record_type: model
    for model in (
        hooks.AssistantMessage,
        hooks.AwaitClarification,
        hooks.AwaitConfirmation,
        hooks.AwaitExternalTools,
        hooks.AwaitQuestions,
        hooks.MemoryAppended,
        hooks.PlannerNote,
        hooks.PolicyDecision,
        hooks.PromptRendered,
        hooks.RunPhaseChanged,
        hooks.ThinkingBlock,
        hooks.ToolAuthorization,
        hooks.ToolCallScheduled,
        hooks.ToolCallUpdated,
        hooks.Usage,
        ModelOutputRejected,
        PlannerOutputRejected,
        ToolResultReceived,
    )
}
_LIFECYCLE_TYPES: Final[dict[type, str]] = {
    RunStarted: RUN_STARTED,
    RunCompleted: RUN_COMPLETED,
    RunSuspended: RUN_SUSPENDED,
    ChildRunLinked: CHILD_RUN_LINKED,
    CancellationIntent: CANCELLATION_INTENT,
    TranscriptSeeded: TRANSCRIPT_SEEDED,
    TranscriptAppended: TRANSCRIPT_APPENDED,
}
_DECODERS: Final[dict[str, Callable[[bytes], HookEvent]]] = {
    RUN_STARTED: decode_run_started,
    RUN_COMPLETED: decode_run_completed,
    RUN_SUSPENDED: decode_run_suspended,
    CHILD_RUN_LINKED: decode_child_run_linked,
    CANCELLATION_INTENT: decode_cancellation_intent,
    TRANSCRIPT_SEEDED: lambda payload: TranscriptSeeded(_decode_messages(payload)),
    TRANSCRIPT_APPENDED: lambda payload: TranscriptAppended(_decode_messages(payload)),
}


def encode_hook(event: HookEvent) -> bytes:
    """Return an event's payload bytes; ``InvalidCommand`` for an event that can't be written."""
    return event.encode()


def hook_type(event: HookEvent) -> str:
    """Return the type of the record that holds ``event``."""
    return event.record_type if isinstance(event, Hook) else _LIFECYCLE_TYPES[type(event)]


def hook_record(
    event: HookEvent,
    *,
    event_key: str,
    run_id: str,
    agent_id: str,
    session_id: str = "",
    turn_id: str = "",
    timestamp: datetime | None = None,
) -> RunRecord:
    """Return the record of an event; an event without a key is ``InvalidCommand`` (C284)."""
    if not event_key:
        raise InvalidCommand("an event needs an event key", code="event_key_required")
    return RunRecord(
        event_key, run_id, agent_id, session_id, turn_id, hook_type(event), encode_hook(event), timestamp
    )


def decode_hook(record_type: str, payload: bytes) -> HookEvent:
    """Decode the payload of a record of a known type.

    Lifecycle payloads are decoded strictly, all others leniently. ``InvalidCommand`` for an unknown type or a
    payload that breaks a rule.
    """
    decoder = _DECODERS.get(record_type)
    if decoder is not None:
        return decoder(payload)
    model = _HOOKS.get(record_type)
    if model is None:
        raise InvalidCommand("no payload is known for this record type", code="unknown_record_type")
    rule = ""
    try:
        return model.model_validate(parse(payload), by_name=False)
    except StrictJsonError as refused:
        rule = refused.rule
    except ValidationError as refused:
        rule = validation_rule(refused)
    # Raised here, so that the payload does not hang on the error as its context.
    raise InvalidCommand(f"payload is not a valid {record_type}", code=rule)


def decode_record(record: RunRecord | CommittedRecord | None) -> HookEvent:
    """Decode a record's payload; ``InvalidCommand`` for none, an unknown type or a bad payload (C284)."""
    if record is None:
        raise InvalidCommand("there is no record to decode", code="record_required")
    return decode_hook(record.type, record.payload)


def _encode_messages(messages: tuple[transcript.Message | None, ...]) -> bytes:
    code = ""
    try:
        return transcript.encode_messages(messages)
    except transcript.MessageError as refused:
        code = refused.code
    raise InvalidCommand("the messages are not a transcript", code=code)


def _decode_messages(payload: bytes) -> tuple[transcript.Message | None, ...]:
    code = ""
    try:
        return transcript.decode_messages(payload)
    except transcript.MessageError as refused:
        code = refused.code
    raise InvalidCommand("payload is not a transcript", code=code)
