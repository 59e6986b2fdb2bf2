"""Whether a transcript may go to a planner or to Bedrock (contract 6.4, 6.5). Nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence

from runlane.transcript.errors import BedrockTranscriptError, PlannerTranscriptError
from runlane.transcript.parts import Message, Role, ThinkingPart, ToolResultPart, ToolUsePart


def validate_planner_transcript(messages: Sequence[Message | None]) -> None:
    """Refuse a transcript in which tool uses and tool results do not pair up.

    Consecutive assistant messages are one group; a group with tool uses is answered in full by the one user
    message after it, and results stand nowhere else. Raises `PlannerTranscriptError` for the first fault.
    """
    at = 0
    while at < len(messages):
        message = messages[at]
        if message is None:
            raise PlannerTranscriptError("planner.message_absent", f"messages[{at}] is absent")
        if message.role != Role.ASSISTANT:
            _refuse_results(message, at)
            at += 1
            continue
        end = _end_of_group(messages, at)
        uses = _use_ids(messages[at:end])
        if uses:
            _check_answer(uses, messages, at, end)
            end += 1
        at = end


def validate_bedrock(messages: Sequence[Message | None], *, thinking_enabled: bool) -> None:
    """Refuse an assistant message that uses a tool and does not start with thinking, where that is enabled.

    Each assistant message is judged alone. Raises `BedrockTranscriptError`.
    """
    if not thinking_enabled:
        return
    for index, message in enumerate(messages):
        if message is None or message.role != Role.ASSISTANT:
            continue
        if any(isinstance(part, ToolUsePart) for part in message.parts) and not isinstance(
            message.parts[0], ThinkingPart
        ):
            kinds = ", ".join(part.kind for part in message.parts)
            raise BedrockTranscriptError(
                "bedrock.thinking_first",
                f"messages[{index}] uses a tool and must start with thinking (parts: {kinds})",
            )


def _end_of_group(messages: Sequence[Message | None], start: int) -> int:
    end = start
    while end < len(messages):
        message = messages[end]
        if message is None or message.role != Role.ASSISTANT:
            break
        end += 1
    return end


def _use_ids(group: Sequence[Message | None]) -> list[str]:
    return [
        part.id for message in group if message for part in message.parts if isinstance(part, ToolUsePart)
    ]


def _result_ids(message: Message) -> list[str]:
    return [part.tool_use_id for part in message.parts if isinstance(part, ToolResultPart)]


def _refuse_results(message: Message, at: int) -> None:
    if _result_ids(message):
        raise PlannerTranscriptError(
            "planner.result_without_use",
            f"messages[{at}] has tool results that no tool use before it asked for",
        )


def _check_answer(uses: list[str], messages: Sequence[Message | None], start: int, end: int) -> None:
    group = f"messages[{start}:{end}]"
    answer = messages[end] if end < len(messages) else None
    if answer is None or answer.role != Role.USER:
        raise PlannerTranscriptError(
            "planner.answer_missing",
            f"{group} uses tools and must be followed by a user message with results",
        )
    if not _distinct(uses):
        raise PlannerTranscriptError("planner.use_ids", f"{group} has tool uses with empty or repeated ids")
    results = _result_ids(answer)
    if not results:
        raise PlannerTranscriptError(
            "planner.results_missing", f"messages[{end}] must hold the tool results that {group} waits for"
        )
    if len(results) != len(uses):
        raise PlannerTranscriptError(
            "planner.result_count",
            f"messages[{end}] has {len(results)} tool results, {group} {len(uses)} uses",
        )
    if not _distinct(results):
        raise PlannerTranscriptError(
            "planner.result_ids", f"messages[{end}] has tool results with empty or repeated ids"
        )
    if set(results) != set(uses):
        raise PlannerTranscriptError(
            "planner.result_unmatched", f"messages[{end}] answers other tool uses than {group} has"
        )


def _distinct(ids: list[str]) -> bool:
    return all(ids) and len(set(ids)) == len(ids)
