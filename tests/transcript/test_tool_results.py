"""Tool results as transcript parts (contract 6.6)."""

from __future__ import annotations

from typing import Any

import pytest

from runlane.transcript import (
    Message,
    MessageError,
    ToolCallIds,
    ToolResultError,
    ToolResultPart,
    encode_message,
    tool_result_content,
    tool_result_part,
)
from tests.transcript.golden import exact, lines

LINES = lines("tool_result_content.jsonl")


def result_of(line: dict[str, Any]) -> bytes | None:
    if "result_json" in line:
        return exact(line, "result_json")
    size = int(line["result_json_bytes"])
    if line["result_json_prefix"].startswith('"'):
        return b'"' + b"x" * (size - 2) + b'"'
    return b" " * (size - 2) + b"{}"


@pytest.mark.parametrize("line", LINES, ids=[line["name"] for line in LINES])
def test_content_is_that_of_the_reference(line: dict[str, Any]) -> None:
    def build() -> bytes:
        content = tool_result_content(
            result_of(line),
            error_message=line["error_message"] or None,
            preview=line["preview"],
            bounds=line["bounds"],
        )
        part = tool_result_part(ToolCallIds(tool_call_id="c", model_tool_call_id="m"), content)
        assert part.is_error is line["is_error"]
        return encode_message(Message("user", (part,)))

    if line["outcome"] == "error":
        with pytest.raises(ToolResultError) as refusal:
            build()
        assert refusal.value.code == "tool_result.result_and_failure"
    else:
        assert f'"content":{line["content"]},"is_error"'.encode() in build()


def test_a_result_of_the_limit_fits_and_one_byte_more_is_replaced_unparsed() -> None:
    fits = b'"' + b"x" * 65_534 + b'"'
    assert tool_result_content(fits).value == "x" * 65_534
    bounds: Any = {"Returned": 1, "Total": None, "Truncated": True, "NextCursor": "c", "RefinementHint": ""}
    content = tool_result_content(b"{" * 65_537, preview="p", bounds=bounds)
    assert content.value == {"omitted": True, "reason": "size_limit", "preview": "p", "bounds": bounds}
    assert content.is_error is False


@pytest.mark.parametrize("absent", [None, b"", b" \n\t\r", b"null", b" null "])
def test_a_null_or_blank_result_counts_as_absent(absent: bytes | None) -> None:
    assert tool_result_content(absent).value is None
    failed = tool_result_content(absent, error_message="boom")
    assert (failed.value, failed.is_error) == ("boom", True)


def test_a_result_and_a_failure_exclude_each_other() -> None:
    for result in (b"{}", b"0", b'""', b"x" * 70_000):
        with pytest.raises(ToolResultError) as refusal:
            tool_result_content(result, error_message=" ")
        assert refusal.value.code == "tool_result.result_and_failure"


@pytest.mark.parametrize(
    ("result", "code"),
    [(b"{", "json.syntax"), (b'{"a":1,"a":1}', "json.duplicate_key"), (b"NaN", "json.not_finite")],
)
def test_a_result_passes_the_gate(result: bytes, code: str) -> None:
    with pytest.raises(MessageError) as refusal:
        tool_result_content(result)
    assert (refusal.value.code, refusal.value.where) == (code, "result_json")


def test_numbers_of_a_result_keep_their_spelling() -> None:
    content = tool_result_content(b'{"big":1180591620717411303424,"price":1.50}')
    data = encode_message(Message("user", (ToolResultPart("i", content.value),)))
    assert b'"content":{"big":1180591620717411303424,"price":1.50}' in data


def test_the_two_ids_of_a_tool_call_are_never_mixed() -> None:
    ids = ToolCallIds(tool_call_id="runtime-1", model_tool_call_id="model-1")
    for content in (tool_result_content(b"1"), tool_result_content(None, error_message="boom")):
        part = tool_result_part(ids, content)
        assert part.tool_use_id == "model-1"
        assert b"runtime-1" not in encode_message(Message("user", (part,)))
