"""Generated messages: every kind of part, with the text that JSON makes hard."""

from __future__ import annotations

import json
from typing import Any

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
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['<&>\u2028\u2029\x7f\x00\x1f"\\/', "\U0001f642\u00e9", "\\u0041", " a \n b\t", '"}],[{"']
)
FILLED = TEXT.filter(bool)
INT64 = st.integers(-(2**63), 2**63 - 1)
# A native float of more than 2^53 is written in plain digits (contract 6.1), which read back as an integer.
FLOATS = st.floats(-(2.0**53), 2.0**53) | st.floats(1e21, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers() | st.just(2**70) | FLOATS | TEXT
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
JSON_OBJECTS = st.dictionaries(TEXT, JSON_VALUES, max_size=3)


@st.composite
def raw_objects(draw: st.DrawFn) -> bytes:
    """A JSON object that is its own canonical text: no blanks, the five characters escaped."""
    text = json.dumps(draw(JSON_OBJECTS), ensure_ascii=draw(st.booleans()), separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


SPANS = st.builds(DocumentSpan, INT64, INT64, INT64)
LOCATIONS = st.builds(CitationLocation, st.none() | SPANS, st.none() | SPANS, st.none() | SPANS)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
CITATIONS = st.builds(Citation, TEXT, TEXT, LOCATIONS, st.none() | TEXTS)
SOURCES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda data: {"bytes": data}, st.binary(min_size=1, max_size=9)),
    st.builds(lambda text: {"text": text, "bytes": b"", "chunks": ()}, FILLED),
    st.builds(lambda chunks: {"chunks": tuple(chunks)}, st.lists(FILLED, min_size=1, max_size=3)),
    st.builds(lambda uri: {"uri": uri}, FILLED),
)


@st.composite
def documents(draw: st.DrawFn) -> DocumentPart:
    return DocumentPart(
        draw(FILLED), draw(TEXT), context=draw(TEXT), cite=draw(st.booleans()), **draw(SOURCES)
    )


PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(ThinkingPart, TEXT, TEXT, st.none() | st.binary(max_size=9), INT64, st.booleans()),
    st.builds(TextPart, TEXT),
    st.builds(ImagePart, FILLED, st.binary(min_size=1, max_size=9)),
    st.builds(lambda format_, uri: ImagePart(format_, uri=uri), FILLED, FILLED),
    documents(),
    st.builds(CitationsPart, TEXT, st.none() | st.lists(CITATIONS, max_size=3).map(tuple)),
    st.builds(ToolUsePart, FILLED, FILLED, raw_objects(), TEXT),
    st.builds(ToolResultPart, FILLED, JSON_VALUES, st.booleans()),
    st.just(CacheCheckpointPart()),
)
KEYS = st.sampled_from(
    [
        "role",
        "parts",
        "meta",
        "kind",
        "text",
        "signature",
        "redacted",
        "index",
        "final",
        "format",
        "bytes",
        "uri",
        "name",
        "chunks",
        "context",
        "cite",
        "citations",
        "title",
        "source",
        "location",
        "source_content",
        "document_char",
        "document_index",
        "start",
        "end",
        "id",
        "input",
        "thought_signature",
        "tool_use_id",
        "content",
        "is_error",
        "args",
        "Kind",
    ]
)
KINDS = st.sampled_from(
    [
        "thinking",
        "text",
        "image",
        "document",
        "citations",
        "tool_use",
        "tool_result",
        "cache_checkpoint",
        "Text",
    ]
)
LOOKALIKES = st.recursive(
    SCALARS | KINDS | st.just("AQ=="),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.builds(
            lambda kind, rest: {**rest, "kind": kind}, KINDS, st.dictionaries(KEYS, inner, max_size=3)
        )
        | st.builds(lambda parts: {"parts": parts}, st.lists(inner, max_size=3))
    ),
    max_leaves=12,
)
"""JSON values that look like messages and parts, most of them malformed."""

MESSAGES = st.builds(Message, TEXT, st.lists(PARTS, max_size=4).map(tuple), st.none() | JSON_OBJECTS)
