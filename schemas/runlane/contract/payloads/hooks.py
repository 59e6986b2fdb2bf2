"""The lenient payloads of the ordinary record types, tool results and rejections apart (contract 1.10)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from runlane.contract.payloads.hook import (
    OMITTED_WHEN_EMPTY,
    Base64,
    FreeJson,
    Hook,
    Int64,
    Labels,
    RawJson,
    Strings,
    as_tuple,
)


class PromptScope(Hook):
    """For whom a prompt was rendered."""

    session_id: str = Field(default="", validation_alias="SessionID")
    labels: Labels = Field(default=None, validation_alias="Labels")


class PromptRendered(Hook):
    """A prompt template was rendered for the model."""

    record_type: ClassVar[str] = "prompt_rendered"
    prompt_id: str = Field(default="", validation_alias="PromptID")
    version: str = Field(default="", validation_alias="Version")
    scope: PromptScope = Field(default=PromptScope(), validation_alias="Scope")


class RunPhaseChanged(Hook):
    """The run entered a phase; the phase string is not checked."""

    record_type: ClassVar[str] = "run_phase_changed"
    phase: str = Field(default="", validation_alias="Phase")


class PlannerNote(Hook):
    """A note of the planner."""

    record_type: ClassVar[str] = "planner_note"
    note: str = Field(default="", validation_alias="Note")
    labels: Labels = Field(default=None, validation_alias="Labels")


class ThinkingBlock(Hook):
    """A piece of the model's reasoning."""

    record_type: ClassVar[str] = "thinking_block"
    text: str = Field(default="", validation_alias="Text")
    signature: str = Field(default="", validation_alias="Signature")
    redacted: Base64 = Field(default=None, validation_alias="Redacted")
    content_index: Int64 = Field(default=0, validation_alias="ContentIndex")
    final: bool = Field(default=False, validation_alias="Final")


class AssistantMessage(Hook):
    """What the assistant said."""

    record_type: ClassVar[str] = "assistant_message"
    message: str = Field(default="", validation_alias="Message")
    structured: FreeJson = Field(default=None, validation_alias="Structured")


class ToolCallScheduled(Hook):
    """A tool call was handed to its queue."""

    record_type: ClassVar[str] = "tool_call_scheduled"
    tool_call_id: str = Field(default="", validation_alias="ToolCallID")
    model_tool_call_id: Annotated[str, OMITTED_WHEN_EMPTY] = Field(
        default="", validation_alias="ModelToolCallID"
    )
    tool_name: str = Field(default="", validation_alias="ToolName")
    payload: RawJson = Field(default=None, validation_alias="Payload")
    queue: str = Field(default="", validation_alias="Queue")
    parent_tool_call_id: str = Field(default="", validation_alias="ParentToolCallID")
    continuation_root_tool_call_id: str = Field(default="", validation_alias="ContinuationRootToolCallID")
    expected_children_total: Int64 = Field(default=0, validation_alias="ExpectedChildrenTotal")
    display_hint: str = Field(default="", validation_alias="DisplayHint")


class ToolCallUpdated(Hook):
    """A tool call learnt how many children it will have."""

    record_type: ClassVar[str] = "tool_call_updated"
    tool_call_id: str = Field(default="", validation_alias="ToolCallID")
    expected_children_total: Int64 = Field(default=0, validation_alias="ExpectedChildrenTotal")


class AwaitClarification(Hook):
    """The run waits for an answer to a question."""

    record_type: ClassVar[str] = "await_clarification"
    id: str = Field(default="", validation_alias="ID")
    question: str = Field(default="", validation_alias="Question")
    missing_fields: Strings = Field(default=None, validation_alias="MissingFields")
    restrict_to_tool: str = Field(default="", validation_alias="RestrictToTool")
    example_json: RawJson = Field(default=None, validation_alias="ExampleJSON")


class AwaitConfirmation(Hook):
    """The run waits for a yes or no to a tool call."""

    record_type: ClassVar[str] = "await_confirmation"
    id: str = Field(default="", validation_alias="ID")
    title: str = Field(default="", validation_alias="Title")
    prompt: str = Field(default="", validation_alias="Prompt")
    tool_name: str = Field(default="", validation_alias="ToolName")
    tool_call_id: str = Field(default="", validation_alias="ToolCallID")
    payload: RawJson = Field(default=None, validation_alias="Payload")


class QuestionOption(Hook):
    """One answer that a question offers."""

    id: str = Field(default="", validation_alias="ID")
    label: str = Field(default="", validation_alias="Label")


class Question(Hook):
    """One question to the user."""

    id: str = Field(default="", validation_alias="ID")
    prompt: str = Field(default="", validation_alias="Prompt")
    options: Annotated[tuple[QuestionOption, ...], BeforeValidator(as_tuple)] = Field(
        default=(), validation_alias="Options"
    )
    allow_multiple: bool = Field(default=False, validation_alias="AllowMultiple")


class AwaitQuestions(Hook):
    """The run waits for answers to a set of questions."""

    record_type: ClassVar[str] = "await_questions"
    id: str = Field(default="", validation_alias="ID")
    tool_name: str = Field(default="", validation_alias="ToolName")
    tool_call_id: str = Field(default="", validation_alias="ToolCallID")
    payload: RawJson = Field(default=None, validation_alias="Payload")
    title: str | None = Field(default=None, validation_alias="Title")
    questions: Annotated[tuple[Question, ...], BeforeValidator(as_tuple)] = Field(
        default=(), validation_alias="Questions"
    )


class ExternalToolItem(Hook):
    """One tool call that somebody else carries out."""

    tool_name: str = Field(default="", validation_alias="ToolName")
    tool_call_id: str = Field(default="", validation_alias="ToolCallID")
    payload: RawJson = Field(default=None, validation_alias="Payload")


class AwaitExternalTools(Hook):
    """The run waits for results of tools outside."""

    record_type: ClassVar[str] = "await_external_tools"
    id: str = Field(default="", validation_alias="ID")
    items: Annotated[tuple[ExternalToolItem, ...], BeforeValidator(as_tuple)] = Field(
        default=(), validation_alias="Items"
    )


class ToolAuthorization(Hook):
    """A tool call was approved or refused by a person."""

    record_type: ClassVar[str] = "tool_authorization"
    tool_name: str = Field(default="", validation_alias="ToolName")
    tool_call_id: str = Field(default="", validation_alias="ToolCallID")
    approved: bool = Field(default=False, validation_alias="Approved")
    summary: str = Field(default="", validation_alias="Summary")
    approved_by: str = Field(default="", validation_alias="ApprovedBy")


class PolicyCaps(Hook):
    """How many tool calls the policy still allows."""

    max_tool_calls: Int64 = Field(default=0, validation_alias="MaxToolCalls")
    remaining_tool_calls: Int64 = Field(default=0, validation_alias="RemainingToolCalls")
    max_consecutive_failed_tool_calls: Int64 = Field(
        default=0, validation_alias="MaxConsecutiveFailedToolCalls"
    )
    remaining_consecutive_failed_tool_calls: Int64 = Field(
        default=0, validation_alias="RemainingConsecutiveFailedToolCalls"
    )


class PolicyDecision(Hook):
    """What the policy allowed for a turn."""

    record_type: ClassVar[str] = "policy_decision"
    allowed_tools: Strings = Field(default=None, validation_alias="AllowedTools")
    caps: PolicyCaps = Field(default=PolicyCaps(), validation_alias="Caps")
    labels: Labels = Field(default=None, validation_alias="Labels")
    metadata: FreeJson = Field(default=None, validation_alias="Metadata")


class MemoryAppended(Hook):
    """Events were added to the run's memory."""

    record_type: ClassVar[str] = "memory_appended"
    event_count: Int64 = Field(default=0, validation_alias="EventCount")


class Usage(Hook):
    """Tokens that a model call used."""

    record_type: ClassVar[str] = "usage"
    model: str = Field(default="", validation_alias="Model")
    model_class: str = Field(default="", validation_alias="ModelClass")
    input_tokens: Int64 = Field(default=0, validation_alias="InputTokens")
    output_tokens: Int64 = Field(default=0, validation_alias="OutputTokens")
    total_tokens: Int64 = Field(default=0, validation_alias="TotalTokens")
    cache_read_tokens: Int64 = Field(default=0, validation_alias="CacheReadTokens")
    cache_write_tokens: Int64 = Field(default=0, validation_alias="CacheWriteTokens")
