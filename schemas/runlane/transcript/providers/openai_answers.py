"""Answers of OpenAI's Chat Completions and Responses APIs as messages, whole or streamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runlane.transcript.parts import Citation, CitationsPart, Message, Part, Role, TextPart, ThinkingPart
from runlane.transcript.providers.reading import Answer, incomplete, malformed, out_of_order, tool_use


def decode_openai_chat(completion: Mapping[str, object]) -> Message:
    """The message of a completion with one choice; a refusal is text. Raises `ProviderError`."""
    choices = list(Answer(completion).children("choices"))
    if len(choices) != 1:
        raise malformed("choices", "must hold exactly one choice")
    message = choices[0].child("message")
    calls: list[_Call] = []
    for call in message.children("tool_calls"):
        if call.text_or("type", "function") != "function":
            raise call.unknown()
        function = call.child("function")
        calls.append(_Call(call, call.text("id"), function.text("name"), [function.text("arguments")]))
    return _chat_message(message.text_or("content") + message.text_or("refusal"), calls)


class OpenAIChatStream:
    """Collects the chunks of a streamed completion with one choice; used like `AnthropicStream`."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: list[_Call] = []
        self._finished = False

    def feed(self, chunk: Mapping[str, object]) -> None:
        """Take the next chunk; raises `ProviderError` for one that does not fit."""
        for choice in Answer(chunk, "chunk").children("choices"):
            if choice.integer("index", 0) != 0:
                raise malformed(choice.where, "must be the only choice")
            delta = choice.child("delta")
            self._text.append(delta.text_or("content") + delta.text_or("refusal"))
            for call in delta.children("tool_calls"):
                self._add(call)
            self._finished = self._finished or choice.has("finish_reason")

    def message(self) -> Message:
        """The whole message; a `ProviderError` before the stream has ended."""
        if not self._finished:
            raise incomplete()
        return _chat_message("".join(self._text), self._calls)

    def _add(self, call: Answer) -> None:
        index = call.integer("index")
        function = call.child("function") if call.has("function") else Answer({}, call.where)
        if index == len(self._calls):
            place = Answer({}, f"tool_calls[{index}]")
            self._calls.append(_Call(place, call.text("id"), function.text("name")))
        elif not 0 <= index < len(self._calls):
            raise out_of_order(call.where)
        self._calls[index].arguments.append(function.text_or("arguments"))


@dataclass(slots=True)
class _Call:
    """A tool call and the pieces of its arguments."""

    place: Answer
    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])

    def part(self) -> Part:
        return tool_use(self.place, self.id, self.name, "".join(self.arguments))


def _chat_message(text: str, calls: list[_Call]) -> Message:
    said: tuple[Part, ...] = (TextPart(text),) if text else ()
    return Message(Role.ASSISTANT, (*said, *(call.part() for call in calls)))


def decode_openai_responses(response: Mapping[str, object]) -> Message:
    """The message of a response, its output items in order. Raises `ProviderError`.

    A refusal is text. The id of a reasoning item is kept as the signature of its thinking and its encrypted
    content as redacted bytes. Annotations become citations without a location.
    """
    parts: list[Part] = []
    for index, item in enumerate(Answer(response).children("output")):
        parts += _item_parts(item, index)
    return Message(Role.ASSISTANT, tuple(parts))


class OpenAIResponsesStream:
    """Collects the events of a streamed response; used like `AnthropicStream`.

    `response.output_item.done` repeats in full what the deltas before it carried, so the deltas themselves
    are for display only.
    """

    def __init__(self) -> None:
        self._items: dict[int, Answer] = {}
        self._ended = False

    def feed(self, event: Mapping[str, object]) -> None:
        """Take the next event; raises `ProviderError` for one that does not fit."""
        answer = Answer(event, "event")
        match answer.text("type"):
            case "response.output_item.done":
                index = answer.integer("output_index")
                if index in self._items:
                    raise out_of_order(answer.where)
                self._items[index] = Answer(answer.child("item").fields, f"output[{index}]")
            case "response.completed" | "response.incomplete":
                self._ended = True
            case "response.failed" | "error":
                raise malformed(answer.where, "reports an error of the provider")
            case _:
                pass

    def message(self) -> Message:
        """The whole message; a `ProviderError` before the stream has ended."""
        if not self._ended:
            raise incomplete()
        parts: list[Part] = []
        for index, item in sorted(self._items.items()):
            parts += _item_parts(item, index)
        return Message(Role.ASSISTANT, tuple(parts))


def _item_parts(item: Answer, index: int) -> list[Part]:
    match item.text("type"):
        case "message":
            return [part for content in item.children("content") for part in _content_parts(content)]
        case "reasoning":
            text = "\n\n".join(summary.text("text") for summary in item.children("summary"))
            encrypted = item.text("encrypted_content").encode() if item.has("encrypted_content") else None
            return [ThinkingPart(text, item.text("id"), encrypted, index, final=True)]
        case "function_call":
            return [tool_use(item, item.text("call_id"), item.text("name"), item.text("arguments"))]
        case _:
            raise item.unknown()


def _content_parts(content: Answer) -> list[Part]:
    match content.text("type"):
        case "output_text":
            text = content.text("text")
            sources = tuple(_annotation(annotation) for annotation in content.children("annotations"))
            if sources:
                return [CitationsPart(text, sources)]
            return [TextPart(text)] if text else []
        case "refusal":
            return [TextPart(content.text("refusal"))]
        case _:
            raise content.unknown()


def _annotation(annotation: Answer) -> Citation:
    match annotation.text("type"):
        case "url_citation":
            return Citation(annotation.text("title"), annotation.text("url"))
        case "file_citation" | "container_file_citation":
            return Citation(annotation.text("filename"), annotation.text("file_id"))
        case _:
            raise annotation.unknown()
