"""Properties of the message codec over generated messages."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane import strictjson
from runlane.transcript import (
    Message,
    MessageError,
    ToolUsePart,
    decode_message,
    decode_messages,
    encode_message,
    encode_messages,
    validate_payload,
)
from tests.transcript.strategies import JSON_OBJECTS, LOOKALIKES, MESSAGES

pytestmark = pytest.mark.slow


@given(message=MESSAGES)
def test_decoding_undoes_encoding(message: Message) -> None:
    assert decode_message(encode_message(message)) == message


@given(messages=st.lists(st.none() | MESSAGES, max_size=4))
def test_decoding_undoes_encoding_of_lists(messages: list[Message | None]) -> None:
    data = encode_messages(messages)
    assert decode_messages(data) == tuple(messages)
    validate_payload(data)


@given(messages=st.lists(st.none() | MESSAGES, max_size=4))
def test_encoding_is_idempotent(messages: list[Message | None]) -> None:
    data = encode_messages(messages)
    assert encode_messages(decode_messages(data)) == data


def fault(call: Callable[[bytes], object], data: bytes) -> tuple[str, str] | None:
    try:
        call(data)
    except MessageError as refusal:
        return refusal.code, refusal.where
    return None


@given(value=st.lists(LOOKALIKES, max_size=2) | LOOKALIKES)
def test_whatever_looks_like_messages_is_refused_or_kept(value: object) -> None:
    data = json.dumps(value).encode()
    refusal = fault(decode_messages, data)
    assert fault(validate_payload, data) == refusal
    if refusal is None:
        messages = decode_messages(data)
        assert decode_messages(encode_messages(messages)) == messages


@given(message=MESSAGES)
def test_canonical_bytes_carry_no_raw_character_of_the_five(message: Message) -> None:
    text = encode_message(message).decode()
    assert not set(text) & set("<>&\u2028\u2029")


@given(messages=st.lists(MESSAGES, max_size=3), indent=st.integers(0, 4), ascii_only=st.booleans())
def test_layout_and_escapes_outside_inputs_do_not_matter(
    messages: list[Message], indent: int, ascii_only: bool
) -> None:
    data = encode_messages(messages)
    reformatted = json.dumps(strictjson.loads(data), indent=indent, ensure_ascii=ascii_only).encode()
    decoded = decode_messages(reformatted)
    for message, original in zip(decoded, messages, strict=True):
        assert message is not None
        assert len(message.parts) == len(original.parts)
        for part, expected in zip(message.parts, original.parts, strict=True):
            if isinstance(part, ToolUsePart) and isinstance(expected, ToolUsePart):
                assert json.loads(part.input) == json.loads(expected.input)
                assert (part.id, part.name) == (expected.id, expected.name)
            else:
                assert part == expected


@given(value=JSON_OBJECTS, indent=st.none() | st.integers(0, 4), ascii_only=st.booleans())
def test_an_input_keeps_its_bytes_on_decode_and_loses_only_whitespace_on_encode(
    value: dict[str, object], indent: int | None, ascii_only: bool
) -> None:
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    data = f'{{"parts": [ {{"input" : {raw} , "kind":"tool_use","id":"i","name":"n"}} ] }}'.encode()
    (part,) = decode_message(data).parts
    assert isinstance(part, ToolUsePart)
    assert part.input == raw.encode()
    compact = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        compact = compact.replace(character, f"\\u{ord(character):04x}")
    assert f'"input":{compact},"thought_signature"'.encode() in encode_message(Message("", (part,)))
