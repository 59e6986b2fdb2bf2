"""Generated conversations that each provider can represent; every part carries a name of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from runlane.transcript import (
    Citation,
    CitationLocation,
    CitationsPart,
    DocumentPart,
    DocumentSpan,
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)
from tests.transcript.strategies import JSON_VALUES, raw_objects

NAME = re.compile(r"p\d+p")


def names_in(value: Any) -> list[str]:
    """The names of parts in a request, in order, each once in a row."""
    found: list[str] = []
    for text in _texts(value):
        for name in NAME.findall(text):
            if found[-1:] != [name]:
                found.append(name)
    return found


def _texts(value: Any) -> Iterable[str]:
    match value:
        case str():
            yield value
        case bytes():
            yield value.decode(errors="replace")
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case _:
            pass


@dataclass
class Names:
    """Hands out names in order and remembers them."""

    given: list[str]

    def next(self) -> str:
        self.given.append(f"p{len(self.given)}p")
        return self.given[-1]


def asked(draw: st.DrawFn, provider: str, name: str) -> Part:
    """A part of a user message."""
    uri = f"s3://bucket/{name}" if provider == "bedrock" else f"https://host/{name}"
    documents: list[Part] = [DocumentPart(name, "pdf", b"%PDF")]
    if provider != "openai_chat":
        documents.append(DocumentPart(name, "pdf", uri=uri))
    if provider in ("anthropic", "bedrock"):
        documents += [
            DocumentPart(name, "txt", text="t", context="c", cite=True),
            DocumentPart(name, chunks=("a", "b")),
            DocumentPart(name, "csv", b"a,b"),
        ]
    return draw(st.sampled_from([TextPart(name), ImagePart("png", uri=uri), *documents]))


def thought(provider: str, name: str, index: int) -> list[ThinkingPart]:
    """The thinking that a provider knows."""
    if provider == "openai_chat":
        return []
    if provider == "openai_responses":
        return [
            ThinkingPart(name, "rs_1", index=index, final=True),
            ThinkingPart(name, "rs_1", b"enc", index, final=True),
        ]
    return [
        ThinkingPart(name, "sig", index=index, final=True),
        ThinkingPart(redacted=name.encode(), index=index, final=True),
    ]


def cited(provider: str, name: str) -> list[Part]:
    """The citations that a provider knows, beside plain text."""
    if provider not in ("anthropic", "bedrock"):
        return [TextPart(name)]
    span = DocumentSpan(1, 2, 3)
    places = [CitationLocation(span), CitationLocation(None, span), CitationLocation(None, None, span)]
    return [
        TextPart(name),
        *(
            CitationsPart(name, (Citation("t", "", place, ("cited",)), Citation("", "", place)))
            for place in places
        ),
    ]


@st.composite
def answers(draw: st.DrawFn, provider: str, names: Names) -> Message:
    """An assistant message: thinking, text, tool uses."""
    parts: list[Part] = []
    for _ in range(draw(st.integers(0, 2))):
        thoughts = thought(provider, names.next(), len(parts)) if provider != "openai_chat" else []
        parts += [draw(st.sampled_from(thoughts))] if thoughts else []
    # One text only for the chat API, whose answers have one.
    for _ in range(1 if provider == "openai_chat" else draw(st.integers(0, 2))):
        parts.append(draw(st.sampled_from(cited(provider, names.next()))))
    for _ in range(draw(st.integers(0 if parts else 1, 2))):
        parts.append(ToolUsePart(names.next(), "tool", draw(raw_objects())))
    return Message("assistant", tuple(parts))


@st.composite
def conversations(draw: st.DrawFn, provider: str) -> tuple[list[Message | None], list[str]]:
    """Messages that the provider can represent, and the names of their parts in order."""
    names = Names([])
    messages: list[Message | None] = []
    messages += [Message("system", (TextPart(names.next()),)) for _ in range(draw(st.integers(0, 2)))]
    for _ in range(draw(st.integers(0, 4))):
        count = draw(st.integers(1, 2))
        messages.append(Message("user", tuple(asked(draw, provider, names.next()) for _ in range(count))))
        answer = draw(answers(provider, names))
        messages.append(answer)
        uses = [part for part in answer.parts if isinstance(part, ToolUsePart)]
        if uses:
            results: list[Part] = [
                ToolResultPart(use.id, draw(JSON_VALUES), draw(st.booleans())) for use in uses
            ]
            names.given += [use.id for use in uses]
            messages.append(Message("user", tuple(results)))
        if draw(st.booleans()):
            messages.append(Message("system", (TextPart(names.next()),)))
    return messages, names.given
