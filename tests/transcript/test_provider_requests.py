"""Transcripts as requests, judged by the providers' SDKs."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runlane.transcript import (
    CacheCheckpointPart,
    Citation,
    CitationLocation,
    CitationsPart,
    DocumentPart,
    DocumentSpan,
    ImagePart,
    Message,
    Part,
    ProviderError,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)
from runlane.transcript.providers import (
    Wire,
    encode_anthropic,
    encode_bedrock,
    encode_openai_chat,
    encode_openai_responses,
)
from tests.transcript import sdk
from tests.transcript.conversations import conversations, names_in

Encode = Callable[[Sequence[Message | None]], Wire]
PROVIDERS: dict[str, tuple[Encode, Callable[[Wire], None]]] = {
    "anthropic": (encode_anthropic, sdk.check_anthropic),
    "bedrock": (encode_bedrock, sdk.check_bedrock),
    "openai_chat": (encode_openai_chat, sdk.check_openai_chat),
    "openai_responses": (encode_openai_responses, sdk.check_openai_responses),
}
each_provider = pytest.mark.parametrize("provider", PROVIDERS)
CHECKPOINT = CacheCheckpointPart()
TEXT = TextPart("t")
USE = ToolUsePart("id1", "tool", b'{"a":1}')


def encode(provider: str, *messages: Message | None) -> Any:
    encoder, check = PROVIDERS[provider]
    request = encoder(messages)
    check(request)
    return request


def refusal(provider: str, *messages: Message | None) -> tuple[str, str]:
    with pytest.raises(ProviderError) as caught:
        PROVIDERS[provider][0](messages)
    return caught.value.code, caught.value.where


def user(*parts: Part) -> Message:
    return Message("user", parts)


def assistant(*parts: Part) -> Message:
    return Message("assistant", parts)


@each_provider
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_a_request_is_valid_and_keeps_the_order_of_all_parts(provider: str, data: st.DataObject) -> None:
    messages, names = data.draw(conversations(provider))
    request = encode(provider, *messages)
    assert names_in(request) == [name for at, name in enumerate(names) if names[at - 1 : at] != [name]]


@each_provider
def test_integers_beyond_64_bits_survive(provider: str) -> None:
    big = str(2**70)
    use = ToolUsePart("id1", "tool", f'{{"n":{big}}}'.encode())
    result = ToolResultPart("id1", {"n": 2**70})
    text = json.dumps(encode(provider, user(TEXT), assistant(use), user(result)))
    assert text.count(big) == 2


@each_provider
@pytest.mark.parametrize(
    ("message", "code", "where"),
    [
        (None, "provider.message_absent", "messages[1]"),
        (Message("tool", (TEXT,)), "provider.role", "messages[1]"),
        (Message("user"), "provider.message_empty", "messages[1]"),
        (user(TEXT, USE), "provider.part_role", "messages[1].parts[1]"),
        (user(ThinkingPart("t", "s")), "provider.part_role", "messages[1].parts[0]"),
        (assistant(ToolResultPart("a")), "provider.part_role", "messages[1].parts[0]"),
        (assistant(ImagePart("png", b"x")), "provider.part_role", "messages[1].parts[0]"),
        (Message("system", (ImagePart("png", b"x"),)), "provider.part_role", "messages[1].parts[0]"),
        (user(TextPart("")), "provider.empty_text", "messages[1].parts[0]"),
        (user(ImagePart("bmp", b"x")), "provider.image_format", "messages[1].parts[0]"),
        (user(ImagePart("png", uri="ftp://h")), "provider.uri", "messages[1].parts[0]"),
        (user(DocumentPart("d", "odt", b"x")), "provider.document_format", "messages[1].parts[0]"),
        (assistant(ToolUsePart("a", "web.search", b"{}")), "provider.tool_name", "messages[1].parts[0]"),
        (
            assistant(ToolUsePart("a", "t", b"{}", "sig")),
            "provider.thought_signature",
            "messages[1].parts[0]",
        ),
        (assistant(ToolUsePart("a", "t", b"[]")), "provider.input", "messages[1].parts[0]"),
        (
            assistant(ToolUsePart("a", "t", b'{"a":NaN}')),
            "json.not_finite",
            "messages[1].parts[0].input",
        ),
        (
            user(ToolResultPart("a", float("inf"))),
            "json.not_finite",
            "messages[1].parts[0].content",
        ),
    ],
)
def test_what_no_provider_can_represent_is_refused_by_name(
    provider: str, message: Message | None, code: str, where: str
) -> None:
    assert refusal(provider, assistant(TEXT), message) == (code, where)


SPAN = DocumentSpan(0, 1, 2)
CITED = CitationsPart("t", (Citation("", "", CitationLocation(SPAN)),))


@pytest.mark.parametrize(
    ("provider", "part", "code"),
    [
        ("anthropic", ThinkingPart("t"), "provider.thinking_signature"),
        ("anthropic", ThinkingPart("t", "s", b"r"), "provider.thinking_both"),
        ("anthropic", ThinkingPart(redacted=b"\xff"), "provider.redacted"),
        ("anthropic", CitationsPart("t", (Citation(),)), "provider.citation_location"),
        (
            "anthropic",
            CitationsPart("t", (Citation("", "s", CitationLocation(SPAN)),)),
            "provider.citation_source",
        ),
        ("anthropic", ToolUsePart("a.b", "t", b"{}"), "provider.tool_id"),
        ("bedrock", ThinkingPart("t", "s", b"r"), "provider.thinking_both"),
        ("bedrock", ToolUsePart("a b", "t", b"{}"), "provider.tool_id"),
        (
            "bedrock",
            CitationsPart("t", (Citation(location=CitationLocation(SPAN, SPAN)),)),
            "provider.citation_location",
        ),
        (
            "bedrock",
            CitationsPart("t", (Citation(location=CitationLocation(DocumentSpan(-1))),)),
            "provider.citation_location",
        ),
        ("openai_chat", ThinkingPart("t", "s"), "provider.part_kind"),
        ("openai_chat", CITED, "provider.citations"),
        ("openai_responses", ThinkingPart("t", "sig"), "provider.thinking_signature"),
        ("openai_responses", ThinkingPart("t", "rs_1", b"\xff"), "provider.redacted"),
        ("openai_responses", CITED, "provider.citations"),
    ],
)
def test_an_answer_that_a_provider_can_t_represent_is_refused(provider: str, part: Part, code: str) -> None:
    assert refusal(provider, user(TEXT), assistant(TEXT, part)) == (code, "messages[1].parts[1]")


@pytest.mark.parametrize(
    ("provider", "part", "code"),
    [
        ("anthropic", DocumentPart("d", "docx", b"x"), "provider.document_format"),
        ("anthropic", DocumentPart("d", "txt", b"\xff"), "provider.document_text"),
        ("anthropic", DocumentPart("d", "txt", uri="https://h/d"), "provider.document_format"),
        ("anthropic", DocumentPart("d", uri="s3://bucket/d"), "provider.uri"),
        ("bedrock", DocumentPart("n" * 201, "pdf", b"x"), "provider.document_name"),
        ("bedrock", DocumentPart("d", uri="https://h/d"), "provider.uri"),
        ("bedrock", ToolResultPart("a b"), "provider.tool_id"),
        ("openai_chat", DocumentPart("d", text="x"), "provider.source"),
        ("openai_chat", DocumentPart("d", uri="https://h/d"), "provider.source"),
        ("openai_chat", DocumentPart("d", "pdf", b"x", cite=True), "provider.document_options"),
        ("openai_responses", DocumentPart("d", chunks=("x",)), "provider.source"),
        ("openai_responses", DocumentPart("d", uri="https://h/d", context="c"), "provider.document_options"),
    ],
)
def test_a_question_that_a_provider_can_t_represent_is_refused(provider: str, part: Part, code: str) -> None:
    assert refusal(provider, user(part)) == (code, "messages[0].parts[0]")


def test_the_chat_api_gets_no_part_out_of_order() -> None:
    late_text = refusal("openai_chat", user(TEXT), assistant(USE), assistant(TEXT))
    assert late_text == ("provider.part_order", "messages[2].parts[0]")
    late_result = refusal("openai_chat", assistant(USE), user(TEXT, ToolResultPart("id1")))
    assert late_result == ("provider.part_order", "messages[1].parts[1]")


def test_system_messages_stand_where_each_provider_wants_them() -> None:
    messages = (Message("system", (TextPart("a"),)), user(TEXT), Message("system", (TextPart("b"),)))
    block: Wire = {"type": "text", "text": "t"}
    anthropic = encode("anthropic", *messages)
    assert anthropic["system"] == [{"type": "text", "text": "a"}]
    assert anthropic["messages"] == [
        {"role": "user", "content": [block]},
        {"role": "system", "content": [{"type": "text", "text": "b"}]},
    ]
    bedrock = encode("bedrock", *messages)
    assert bedrock["system"] == [{"text": "a"}]
    assert [turn["role"] for turn in bedrock["messages"]] == ["user", "system"]
    chat = encode("openai_chat", *messages)
    assert [turn["role"] for turn in chat["messages"]] == ["system", "user", "system"]
    responses = encode("openai_responses", *messages)
    assert [item["role"] for item in responses["input"]] == ["system", "user", "system"]


def test_adjacent_messages_of_one_role_become_one_turn() -> None:
    for provider in ("anthropic", "bedrock", "openai_chat"):
        request = encode(provider, user(TEXT), user(TEXT), assistant(TEXT), assistant(USE))
        assert [turn["role"] for turn in request["messages"]] == ["user", "assistant"]


def test_results_and_errors() -> None:
    messages = (
        assistant(USE, ToolUsePart("id2", "tool", b"{}")),
        user(ToolResultPart("id1", {"b": 1.5, "a": None}), ToolResultPart("id2", "boom", is_error=True)),
    )
    value = '{"a":null,"b":1.5}'
    blocks = encode("anthropic", *messages)["messages"][1]["content"]
    assert [(b["tool_use_id"], b["content"], b["is_error"]) for b in blocks] == [
        ("id1", value, False),
        ("id2", "boom", True),
    ]
    blocks = encode("bedrock", *messages)["messages"][1]["content"]
    assert [(b["toolResult"]["content"], b["toolResult"]["status"]) for b in blocks] == [
        ([{"text": value}], "success"),
        ([{"text": "boom"}], "error"),
    ]
    turns = encode("openai_chat", *messages)["messages"][1:]
    assert [(t["role"], t["tool_call_id"], t["content"][0]["text"]) for t in turns] == [
        ("tool", "id1", value),
        ("tool", "id2", '{"error":"boom"}'),
    ]
    items = encode("openai_responses", *messages)["input"][2:]
    assert [(i["call_id"], i["output"][0]["text"]) for i in items] == [
        ("id1", value),
        ("id2", '{"error":"boom"}'),
    ]


def test_images_by_bytes_and_by_uri() -> None:
    data = base64.b64encode(b"\x01").decode()
    image = ImagePart("png", b"\x01")
    linked = ImagePart("png", uri="https://h/i")
    sources = [b["source"] for b in encode("anthropic", user(image, linked))["messages"][0]["content"]]
    assert sources == [
        {"type": "base64", "media_type": "image/png", "data": data},
        {"type": "url", "url": "https://h/i"},
    ]
    blocks = encode("bedrock", user(image, ImagePart("png", uri="s3://bucket/i")))["messages"][0]["content"]
    assert [b["image"]["source"] for b in blocks] == [
        {"bytes": b"\x01"},
        {"s3Location": {"uri": "s3://bucket/i"}},
    ]
    urls = [f"data:image/png;base64,{data}", "https://h/i"]
    parts = encode("openai_chat", user(image, linked))["messages"][0]["content"]
    assert [part["image_url"]["url"] for part in parts] == urls
    parts = encode("openai_responses", user(image, linked))["input"][0]["content"]
    assert [part["image_url"] for part in parts] == urls


def test_openai_gets_tool_inputs_as_they_were_spelled() -> None:
    spelled = b'{ "n": 1.50,\n "t": "\\u0041" }'
    use = ToolUsePart("id1", "tool", spelled)
    (call,) = encode("openai_chat", assistant(use))["messages"][0]["tool_calls"]
    assert call["function"]["arguments"] == spelled.decode()
    (item,) = encode("openai_responses", assistant(use))["input"]
    assert item["arguments"] == spelled.decode()


def test_a_checkpoint_marks_the_block_before_it() -> None:
    messages = (
        Message("system", (TEXT, CHECKPOINT)),
        user(TEXT, CHECKPOINT),
        assistant(USE),
        user(ToolResultPart("id1", "r"), CHECKPOINT),
    )
    cached: Wire = {"type": "ephemeral"}
    request = encode("anthropic", *messages)
    assert request["system"][0]["cache_control"] == cached
    assert [m["content"][-1].get("cache_control") for m in request["messages"]] == [cached, None, cached]
    request = encode("bedrock", *messages)
    point = {"cachePoint": {"type": "default"}}
    assert request["system"][-1] == point
    assert [m["content"][-1] == point for m in request["messages"]] == [True, False, True]
    request = encode("openai_chat", *messages)
    marked = [m.get("content", [{}])[-1].get("prompt_cache_breakpoint") for m in request["messages"]]
    assert marked == [{"mode": "explicit"}, {"mode": "explicit"}, None, {"mode": "explicit"}]
    request = encode("openai_responses", *messages)
    last = [(item.get("content") or item.get("output") or [{}])[-1] for item in request["input"]]
    assert [part.get("prompt_cache_breakpoint") for part in last] == marked


@pytest.mark.parametrize(
    ("provider", "messages"),
    [
        ("anthropic", (user(CHECKPOINT, TEXT),)),
        ("anthropic", (user(TEXT), assistant(ThinkingPart("t", "s"), CHECKPOINT))),
        ("openai_chat", (user(CHECKPOINT, TEXT),)),
        ("openai_chat", (user(TEXT), assistant(USE, CHECKPOINT))),
        ("openai_responses", (user(CHECKPOINT, TEXT),)),
        ("openai_responses", (user(TEXT), assistant(TEXT, CHECKPOINT))),
    ],
)
def test_a_checkpoint_without_a_block_to_mark_is_refused(
    provider: str, messages: tuple[Message, ...]
) -> None:
    code, where = refusal(provider, *messages)
    assert code == "provider.checkpoint"
    assert where.startswith(f"messages[{len(messages) - 1}].parts[")


def test_the_transcript_is_left_alone() -> None:
    content: Any = {"a": [1]}
    messages = (user(TEXT), assistant(USE), user(ToolResultPart("id1", content), CHECKPOINT))
    for provider in PROVIDERS:
        encode(provider, *messages)
    assert messages == (user(TEXT), assistant(USE), user(ToolResultPart("id1", {"a": [1]}), CHECKPOINT))
