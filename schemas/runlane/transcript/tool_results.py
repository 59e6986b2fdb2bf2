"""The answer of a tool call as a part of the transcript (contract 6.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from runlane import strictjson
from runlane.strictjson import JsonValue, StrictJsonError
from runlane.transcript.errors import ToolResultError, refused_by_gate
from runlane.transcript.parts import ToolResultPart

MAX_RESULT_BYTES: Final = 65_536
"""Raw bytes of a result, whitespace counted, above which it is replaced by a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallIds:
    """The two ids of one tool call.

    `tool_call_id` is the runtime's, by which records name the call; `model_tool_call_id` is the model's, by
    which it waits for the result. Only the second one may stand in a transcript.
    """

    tool_call_id: str
    model_tool_call_id: str


@dataclass(frozen=True, slots=True)
class ToolResultContent:
    """What a tool result part holds: the value, and whether it is an error's text."""

    value: JsonValue
    is_error: bool = False


def tool_result_content(
    result_json: bytes | None,
    *,
    error_message: str | None = None,
    preview: str = "",
    bounds: dict[str, JsonValue] | None = None,
) -> ToolResultContent:
    """Turn the stored result of a tool call into content for the model.

    A failure gives its text; a result its value; absent, blank and null ones null; one beyond 65,536 bytes a
    note with the preview and the bounds, unparsed. Raises `ToolResultError` where both a result and a failure
    are given, `MessageError` with the gate's rule for a result that is no JSON.
    """
    if error_message:
        if not _is_absent(result_json):
            raise ToolResultError(
                "tool_result.result_and_failure", "a tool call has both a result and a failure"
            )
        return ToolResultContent(error_message, is_error=True)
    if result_json is not None and len(result_json) > MAX_RESULT_BYTES:
        return ToolResultContent(_omission(preview, bounds))
    if result_json is None or _is_absent(result_json):
        return ToolResultContent(None)
    try:
        return ToolResultContent(strictjson.loads_exact(result_json))
    except StrictJsonError as error:
        raise refused_by_gate(error, "result_json") from error


def tool_result_part(ids: ToolCallIds, content: ToolResultContent) -> ToolResultPart:
    """The part that answers the model's tool use: it carries the model's id, never the runtime's."""
    return ToolResultPart(ids.model_tool_call_id, content.value, content.is_error)


def _is_absent(result_json: bytes | None) -> bool:
    return result_json is None or result_json.strip(b" \t\n\r") in (b"", b"null")


def _omission(preview: str, bounds: dict[str, JsonValue] | None) -> dict[str, JsonValue]:
    note: dict[str, JsonValue] = {"omitted": True, "reason": "size_limit"}
    if preview:
        note["preview"] = preview
    if bounds is not None:
        note["bounds"] = bounds
    return note
