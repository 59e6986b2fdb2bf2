"""The message codec against the bytes that the reference implementation writes and refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runlane.strictjson import JsonValue
from runlane.transcript import (
    ImagePart,
    Message,
    Part,
    ToolResultPart,
    ToolUsePart,
    TranscriptError,
    decode_message,
    decode_messages,
    decode_metadata,
    encode_message,
    encode_messages,
    validate_payload,
)
from tests.transcript.golden import exact, lines

GATE_RULES = {
    "depth_over_64": "json.too_deep",
    "duplicate_key": "json.duplicate_key",
    "invalid_utf8": "json.invalid_utf8",
    "not_json": "json.syntax",
    "number_overflow": "json.number_overflow",
    "unpaired_surrogate": "json.unpaired_surrogate",
}
SHAPES = lines("transcript.jsonl")
REFUSALS = lines("transcript_reject.jsonl")
DECODERS: dict[str, Callable[[bytes | None], object]] = {
    "decode_message": lambda data: decode_message(data or b""),
    "decode_delta": lambda data: decode_messages(data or b""),
    "decode_metadata": decode_metadata,
}


def rewrite(kind: str, data: bytes) -> bytes:
    return encode_messages(decode_messages(data)) if kind == "delta" else encode_message(decode_message(data))


@pytest.mark.parametrize("line", SHAPES, ids=[line["name"] for line in SHAPES])
def test_bytes_are_written_like_the_reference(line: dict[str, Any]) -> None:
    data = exact(line, "json")
    assert data is not None
    if line["gate_refuses"]:
        with pytest.raises(TranscriptError) as refusal:
            rewrite(line["kind"], data)
        assert refusal.value.code in {GATE_RULES[reason] for reason in line["gate_refuses"]}
        return
    assert rewrite(line["kind"], data) == exact(line, "roundtrip")
    if line["from"] == "input":
        given = exact(line, "input")
        assert given is not None
        assert rewrite(line["kind"], given) == data


DECODED = [line for line in REFUSALS if line["op"] in DECODERS]


@pytest.mark.parametrize("line", DECODED, ids=[line["name"] for line in DECODED])
def test_decoding_refuses_and_accepts_as_ours_says(line: dict[str, Any]) -> None:
    data = exact(line, "input")
    decode = DECODERS[line["op"]]
    if line["ours"] != "accept":
        with pytest.raises(TranscriptError) as refusal:
            decode(data)
        expected = {GATE_RULES[reason] for reason in line.get("gate_refuses", [])}
        assert refusal.value.code in expected if expected else refusal.value.code.startswith("transcript.")
        return
    value = decode(data)
    if line["op"] == "decode_delta":
        assert data is not None
        validate_payload(data)
        assert encode_messages(decode_messages(data)) == exact(line, "json")
    elif line["op"] == "decode_message":
        assert data is not None
        assert rewrite("message", data) == exact(line, "json")
    else:
        assert (value is None) == (line["json"] is None)


NOT_JSON: Any = object()
UNENCODABLE: dict[str, Part] = {
    "enc_image_no_bytes": ImagePart("png"),
    "enc_tool_use_no_id": ToolUsePart("", "n", b"{}"),
    "enc_tool_use_two_values": ToolUsePart("i", "n", b"{} {}"),
    "enc_content_chan": ToolResultPart("i", NOT_JSON),
}
ENCODED = [line["name"] for line in REFUSALS if line["op"] == "encode_message"]


@pytest.mark.parametrize("name", ENCODED)
def test_encoding_refuses_like_the_reference(name: str) -> None:
    with pytest.raises(TranscriptError):
        encode_message(Message("user", (UNENCODABLE[name],)))


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1e21, b"1e+21"),
        (-1.5e300, b"-1.5e+300"),
        (1e20, b"100000000000000000000"),
        (1e16, b"10000000000000000"),
        (123456789012345680000.0, b"123456789012345680000"),
        (1e-6, b"0.000001"),
        (1e-7, b"1e-7"),
        (9.99e-7, b"9.99e-7"),
        (0.1, b"0.1"),
        (1.0, b"1"),
        (-0.0, b"-0"),
        (5e-324, b"5e-324"),
        (2**70, b"1180591620717411303424"),
    ],
)
def test_native_numbers_are_spelled_like_the_reference(number: JsonValue, written: bytes) -> None:
    data = encode_message(Message("user", (ToolResultPart("i", number),)))
    assert b'"content":' + written + b"," in data
