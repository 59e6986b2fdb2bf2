"""Answers of providers, whole and streamed, judged by their SDKs and taken back to the parts they hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import anthropic.types
import openai.types.chat
import openai.types.responses
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from runlane.transcript import Message, ProviderError, TextPart, ThinkingPart, ToolUsePart
from runlane.transcript.providers import (
    AnthropicStream,
    BedrockStream,
    OpenAIChatStream,
    OpenAIResponsesStream,
    decode_anthropic,
    decode_bedrock,
    decode_openai_chat,
    decode_openai_responses,
    encode_anthropic,
    encode_bedrock,
    encode_openai_chat,
    encode_openai_responses,
)
from tests.transcript import sdk
from tests.transcript.conversations import Names, answers

Event = dict[str, Any]
Stream = AnthropicStream | BedrockStream | OpenAIChatStream | OpenAIResponsesStream
ANTHROPIC_EVENT: TypeAdapter[Any] = TypeAdapter(anthropic.types.RawMessageStreamEvent)
RESPONSES_EVENT: TypeAdapter[Any] = TypeAdapter(openai.types.responses.ResponseStreamEvent)
USAGE = {"input_tokens": 1, "output_tokens": 1}
round_trip = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
SEEDS = st.randoms(use_true_random=False)


def drawn(data: st.DataObject, provider: str) -> Message:
    return data.draw(answers(provider, Names([])))


def pieces(text: str, cuts: Any) -> Iterable[str]:
    """The text in random pieces, which may split anything."""
    while text:
        size = cuts.randint(1, len(text))
        yield text[:size]
        text = text[size:]


def collected(stream: Stream, events: Iterable[Event]) -> Message:
    for event in events:
        stream.feed(event)
    return stream.message()


def comparable(message: Message) -> list[Any]:
    """Parts with inputs by value: what an SDK has parsed has lost its spelling."""
    return [
        (part.id, part.name, json.loads(part.input)) if isinstance(part, ToolUsePart) else part
        for part in message.parts
    ]


def anthropic_answer(message: Message) -> Event:
    request: Any = encode_anthropic([message])
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": request["messages"][0]["content"],
        "usage": USAGE,
    }
    return anthropic.types.Message.model_validate(answer).model_dump()


def anthropic_events(answer: Event, cuts: Any) -> Iterator[Event]:
    yield {"type": "message_start", "message": answer | {"content": []}}
    for index, block in enumerate(answer["content"]):
        start, deltas = anthropic_block(block, cuts)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_stop"}


def anthropic_block(block: Event, cuts: Any) -> tuple[Event, list[Event]]:
    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"], cuts)]
            deltas += [{"type": "citations_delta", "citation": c} for c in block["citations"] or ()]
            return {"type": "text", "text": ""}, deltas
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"], cuts)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case "tool_use":
            text = json.dumps(block["input"]) if block["input"] else ""
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(text, cuts)]
            return block | {"input": {}}, deltas
        case _:
            return block, []


@round_trip
@given(data=st.data(), cuts=SEEDS)
def test_anthropic_gives_back_what_was_sent(data: st.DataObject, cuts: Any) -> None:
    message = drawn(data, "anthropic")
    answer = anthropic_answer(message)
    assert comparable(decode_anthropic(answer)) == comparable(message)
    events = list(anthropic_events(answer, cuts))
    for event in events:
        ANTHROPIC_EVENT.validate_python(event)
    assert comparable(collected(AnthropicStream(), events)) == comparable(message)


def bedrock_answer(message: Message) -> Event:
    request: Any = encode_bedrock([message])
    output = {"message": request["messages"][0]}
    sdk.check_bedrock_shape("ConverseOutput", output)
    return {"output": output, "stopReason": "end_turn"}


def bedrock_events(answer: Event, cuts: Any) -> Iterator[Event]:
    yield {"messageStart": {"role": "assistant"}}
    for index, block in enumerate(answer["output"]["message"]["content"]):
        if "toolUse" in block:
            use = {name: block["toolUse"][name] for name in ("toolUseId", "name")}
            yield {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": use}}}
        for delta in bedrock_deltas(block, cuts):
            yield {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}
        yield {"contentBlockStop": {"contentBlockIndex": index}}
    yield {"messageStop": {"stopReason": "end_turn"}}
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def bedrock_deltas(block: Event, cuts: Any) -> Iterator[Event]:
    if "text" in block:
        yield from ({"text": piece} for piece in pieces(block["text"], cuts))
    elif "toolUse" in block:
        text = json.dumps(block["toolUse"]["input"])
        yield from ({"toolUse": {"input": piece}} for piece in pieces(text, cuts))
    elif "citationsContent" in block:
        content = block["citationsContent"]
        yield from ({"text": piece} for piece in pieces(content["content"][0]["text"], cuts))
        yield from ({"citation": citation} for citation in content["citations"])
    elif "redactedContent" in block["reasoningContent"]:
        yield {"reasoningContent": block["reasoningContent"]}
    else:
        reasoning = block["reasoningContent"]["reasoningText"]
        yield from ({"reasoningContent": {"text": piece}} for piece in pieces(reasoning["text"], cuts))
        yield {"reasoningContent": {"signature": reasoning["signature"]}}


@round_trip
@given(data=st.data(), cuts=SEEDS)
def test_bedrock_gives_back_what_was_sent(data: st.DataObject, cuts: Any) -> None:
    message = drawn(data, "bedrock")
    answer = bedrock_answer(message)
    assert comparable(decode_bedrock(answer)) == comparable(message)
    events = list(bedrock_events(answer, cuts))
    for event in events:
        sdk.check_bedrock_shape("ConverseStreamOutput", event)
    assert comparable(collected(BedrockStream(), events)) == comparable(message)


def chat_answer(message: Message) -> Event:
    request: Any = encode_openai_chat([message])
    sent = request["messages"][0]
    text = "".join(part["text"] for part in sent.get("content", ())) or None
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text, "tool_calls": sent.get("tool_calls")},
    }
    completion = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return openai.types.chat.ChatCompletion.model_validate(completion).model_dump()


def chat_chunks(answer: Event, cuts: Any) -> Iterator[Event]:
    message = answer["choices"][0]["message"]
    deltas: list[Event] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces(message["content"] or "", cuts)]
    for index, call in enumerate(message["tool_calls"] or ()):
        function = call["function"]
        first = {"name": function["name"], "arguments": ""}
        deltas.append(
            {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": first}]}
        )
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in pieces(function["arguments"], cuts)
        ]
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    for delta in deltas:
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield head | {"choices": []}


@round_trip
@given(data=st.data(), cuts=SEEDS)
def test_openai_chat_gives_back_what_was_sent_byte_for_byte(data: st.DataObject, cuts: Any) -> None:
    message = drawn(data, "openai_chat")
    answer = chat_answer(message)
    assert decode_openai_chat(answer) == message
    chunks = list(chat_chunks(answer, cuts))
    for chunk in chunks:
        openai.types.chat.ChatCompletionChunk.model_validate(chunk)
    assert collected(OpenAIChatStream(), chunks) == message


def responses_answer(message: Message) -> Event:
    request: Any = encode_openai_responses([message])
    output: list[Event] = []
    for item in request["input"]:
        if item["type"] == "message":
            content = [{"type": "output_text", "text": item["content"], "annotations": []}]
            output.append(item | {"id": "msg_1", "status": "completed", "content": content})
        else:
            output.append(item)
    answer = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    return openai.types.responses.Response.model_validate(answer).model_dump()


def responses_events(answer: Event) -> Iterator[Event]:
    for index, item in enumerate(answer["output"]):
        place = {"output_index": index, "sequence_number": index}
        yield {"type": "response.output_item.added", "item": item, **place}
        yield {"type": "response.output_item.done", "item": item, **place}
    yield {"type": "response.completed", "response": answer, "sequence_number": 99}


@round_trip
@given(data=st.data())
def test_openai_responses_gives_back_what_was_sent_byte_for_byte(data: st.DataObject) -> None:
    message = drawn(data, "openai_responses")
    answer = responses_answer(message)
    assert decode_openai_responses(answer) == message
    events = list(responses_events(answer))
    for event in events:
        RESPONSES_EVENT.validate_python(event)
    assert collected(OpenAIResponsesStream(), events) == message


def test_a_streamed_input_keeps_its_spelling() -> None:
    spelled = '{"n": 1.50, "big": 1180591620717411303424}'
    use = {"type": "tool_use", "id": "a", "name": "t", "input": {}}
    events: list[Event] = [
        {"type": "content_block_start", "index": 0, "content_block": use},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": spelled},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]
    assert collected(AnthropicStream(), events).parts == (ToolUsePart("a", "t", spelled.encode()),)


def test_text_blocks_without_text_are_dropped() -> None:
    assert decode_anthropic({"content": [{"type": "text", "text": ""}]}).parts == ()
    assert decode_bedrock({"output": {"message": {"content": [{"text": ""}]}}}).parts == ()


def test_a_refusal_is_text() -> None:
    message = {"role": "assistant", "content": None, "refusal": "no"}
    assert decode_openai_chat({"choices": [{"message": message}]}).parts == (TextPart("no"),)
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}
    assert decode_openai_responses({"output": [item]}).parts == (TextPart("no"),)


def test_sources_of_a_response_are_kept() -> None:
    annotation = {"type": "url_citation", "title": "T", "url": "https://h", "start_index": 0, "end_index": 1}
    content = {"type": "output_text", "text": "x", "annotations": [annotation]}
    (part,) = decode_openai_responses({"output": [{"type": "message", "content": [content]}]}).parts
    assert (part.kind, part.citations[0].title, part.citations[0].source) == ("citations", "T", "https://h")  # type: ignore[union-attr,index]


def test_redacted_thinking_is_kept_as_it_came() -> None:
    (part,) = decode_anthropic({"content": [{"type": "redacted_thinking", "data": "Zm9v"}]}).parts
    assert part == ThinkingPart(redacted=b"Zm9v", final=True)


MALFORMED: list[tuple[Callable[[Any], Message], Any, str]] = [
    (decode_anthropic, {"content": "x"}, "provider.malformed"),
    (decode_anthropic, {"content": [None]}, "provider.malformed"),
    (decode_anthropic, {"content": [{"type": "server_tool_use"}]}, "provider.unknown_block"),
    (decode_anthropic, {"content": [{"type": "text"}]}, "provider.malformed"),
    (
        decode_anthropic,
        {"content": [{"type": "tool_use", "id": "a", "name": "t", "input": []}]},
        "provider.malformed",
    ),
    (
        decode_anthropic,
        {"content": [{"type": "tool_use", "id": "", "name": "t", "input": {}}]},
        "provider.malformed",
    ),
    (
        decode_anthropic,
        {"content": [{"type": "text", "text": "x", "citations": [{"type": "search_result_location"}]}]},
        "provider.unknown_block",
    ),
    (decode_bedrock, {}, "provider.malformed"),
    (decode_bedrock, {"output": {"message": {"content": [{"video": {}}]}}}, "provider.unknown_block"),
    (
        decode_bedrock,
        {"output": {"message": {"content": [{"reasoningContent": {"redactedContent": "x"}}]}}},
        "provider.malformed",
    ),
    (decode_openai_chat, {"choices": []}, "provider.malformed"),
    (
        decode_openai_chat,
        {"choices": [{"message": {"tool_calls": [{"id": "a", "type": "custom"}]}}]},
        "provider.unknown_block",
    ),
    (
        decode_openai_chat,
        {
            "choices": [
                {"message": {"tool_calls": [{"id": "a", "function": {"name": "t", "arguments": "{"}}]}}
            ]
        },
        "json.syntax",
    ),
    (
        decode_openai_chat,
        {
            "choices": [
                {
                    "message": {
                        "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": '{"a":1,"a":2}'}}]
                    }
                }
            ]
        },
        "json.duplicate_key",
    ),
    (decode_openai_responses, {"output": [{"type": "web_search_call"}]}, "provider.unknown_block"),
]


@pytest.mark.parametrize(("decode", "answer", "code"), MALFORMED)
def test_a_malformed_answer_is_refused(decode: Callable[[Any], Message], answer: Any, code: str) -> None:
    with pytest.raises(ProviderError) as caught:
        decode(answer)
    assert caught.value.code == code


START: Event = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
DELTA: Event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}
CHUNK: Event = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 1, "id": "a"}]}}]}


@pytest.mark.parametrize(
    ("stream", "events", "code"),
    [
        (AnthropicStream, [], "provider.incomplete"),
        (AnthropicStream, [START, DELTA], "provider.incomplete"),
        (AnthropicStream, [START, {"type": "message_stop"}], "provider.incomplete"),
        (AnthropicStream, [DELTA], "provider.out_of_order"),
        (AnthropicStream, [START | {"index": 1}], "provider.out_of_order"),
        (AnthropicStream, [{"type": "error"}], "provider.malformed"),
        (BedrockStream, [], "provider.incomplete"),
        (BedrockStream, [{"contentBlockStop": {"contentBlockIndex": 0}}], "provider.out_of_order"),
        (BedrockStream, [{"throttlingException": {}}], "provider.malformed"),
        (
            BedrockStream,
            [{"contentBlockStart": {"contentBlockIndex": 0, "start": {"image": {"format": "png"}}}}],
            "provider.unknown_block",
        ),
        (OpenAIChatStream, [{"choices": []}], "provider.incomplete"),
        (OpenAIChatStream, [CHUNK], "provider.out_of_order"),
        (OpenAIResponsesStream, [{"type": "response.created"}], "provider.incomplete"),
        (OpenAIResponsesStream, [{"type": "response.failed"}], "provider.malformed"),
    ],
)
def test_a_broken_stream_is_refused(stream: Callable[[], Stream], events: list[Event], code: str) -> None:
    with pytest.raises(ProviderError) as caught:
        collected(stream(), events)
    assert caught.value.code == code
