"""Payloads of the events that ask somebody to act (contract 8): snake case, the contract's order."""

from __future__ import annotations

from typing import Annotated, Self

from runlane.contract.payloads import (
    AwaitClarification,
    AwaitConfirmation,
    AwaitExternalTools,
    AwaitQuestions,
    Hook,
    RawJson,
    ToolAuthorization,
)
from runlane.contract.payloads.hook import OMITTED_WHEN_EMPTY

OmittedText = Annotated[str, OMITTED_WHEN_EMPTY]
OmittedRaw = Annotated[RawJson, OMITTED_WHEN_EMPTY]


def present(raw: bytes | None) -> bytes | None:
    """Return free JSON, None where it is absent or a JSON null: both are left out."""
    return None if raw == b"null" else raw


class AwaitClarificationPayload(Hook):
    """A question to the user."""

    id: str
    question: str
    missing_fields: Annotated[tuple[str, ...], OMITTED_WHEN_EMPTY]
    restrict_to_tool: OmittedText
    example_json: OmittedRaw = None

    @classmethod
    def of(cls, event: AwaitClarification) -> Self:
        """Build the payload of a record."""
        return cls(
            id=event.id,
            question=event.question,
            missing_fields=event.missing_fields or (),
            restrict_to_tool=event.restrict_to_tool,
            example_json=present(event.example_json),
        )


class AwaitConfirmationPayload(Hook):
    """A tool call that a person must allow."""

    id: str
    title: OmittedText
    prompt: str
    tool_name: str
    tool_call_id: str
    payload: OmittedRaw = None

    @classmethod
    def of(cls, event: AwaitConfirmation) -> Self:
        """Build the payload of a record."""
        return cls(
            id=event.id,
            title=event.title,
            prompt=event.prompt,
            tool_name=event.tool_name,
            tool_call_id=event.tool_call_id,
            payload=present(event.payload),
        )


class OptionPayload(Hook):
    """One answer that a question offers."""

    id: str
    label: str


class QuestionPayload(Hook):
    """One question of a set."""

    id: str
    prompt: str
    options: tuple[OptionPayload, ...]
    allow_multiple: Annotated[bool, OMITTED_WHEN_EMPTY]


class AwaitQuestionsPayload(Hook):
    """A set of questions to the user; the payload of its tool call stays with the record."""

    id: str
    tool_name: str
    tool_call_id: str
    title: OmittedText
    questions: tuple[QuestionPayload, ...]

    @classmethod
    def of(cls, event: AwaitQuestions) -> Self:
        """Build the payload of a record."""
        questions = tuple(
            QuestionPayload(
                id=question.id,
                prompt=question.prompt,
                options=tuple(OptionPayload(id=option.id, label=option.label) for option in question.options),
                allow_multiple=question.allow_multiple,
            )
            for question in event.questions
        )
        return cls(
            id=event.id,
            tool_name=event.tool_name,
            tool_call_id=event.tool_call_id,
            title=event.title or "",
            questions=questions,
        )


class ExternalToolPayload(Hook):
    """One tool call that somebody else carries out."""

    tool_name: str
    tool_call_id: OmittedText
    payload: OmittedRaw = None


class AwaitExternalToolsPayload(Hook):
    """Tool calls that somebody else carries out."""

    id: str
    items: tuple[ExternalToolPayload, ...]

    @classmethod
    def of(cls, event: AwaitExternalTools) -> Self:
        """Build the payload of a record."""
        items = tuple(
            ExternalToolPayload(
                tool_name=item.tool_name, tool_call_id=item.tool_call_id, payload=present(item.payload)
            )
            for item in event.items
        )
        return cls(id=event.id, items=items)


class ToolAuthorizationPayload(Hook):
    """What a person said to a tool call."""

    tool_name: str
    tool_call_id: str
    approved: bool
    summary: str
    approved_by: str

    @classmethod
    def of(cls, event: ToolAuthorization) -> Self:
        """Build the payload of a record."""
        return cls(
            tool_name=event.tool_name,
            tool_call_id=event.tool_call_id,
            approved=event.approved,
            summary=event.summary,
            approved_by=event.approved_by,
        )
