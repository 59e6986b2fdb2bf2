"""Messages and the eight kinds of parts (contract 6.1, 6.2; image URIs: section 0).

Values are frozen and compared by content. Building one checks nothing; `encode_message` and `decode_message`
apply the rules of its kind. Free JSON (`meta`, `content`) is plain Python data, which nobody may change in
place; numbers that are not plain integers are `SpelledNumber`, so that they are written back as they came.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, TypeAlias

from runlane.strictjson import JsonValue


class Role(StrEnum):
    """The roles of a message. The codec keeps any string."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """A model's reasoning: `text` with its `signature`, or `redacted` bytes that only its maker can read."""

    kind: ClassVar = "thinking"
    text: str = ""
    signature: str = ""
    redacted: bytes | None = None
    index: int = 0
    final: bool = False


@dataclass(frozen=True, slots=True)
class TextPart:
    """Plain text."""

    kind: ClassVar = "text"
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image, either its `bytes` or its `uri`. `format` is png, jpeg, gif, webp or any other word."""

    kind: ClassVar = "image"
    format: str
    bytes: builtins.bytes | None = None
    uri: str = ""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document with exactly one source out of `bytes`, `text`, `chunks` and `uri`."""

    kind: ClassVar = "document"
    name: str
    format: str = ""
    bytes: builtins.bytes | None = None
    text: str = ""
    chunks: tuple[str, ...] | None = None
    uri: str = ""
    context: str = ""
    cite: bool = False


@dataclass(frozen=True, slots=True)
class DocumentSpan:
    """A range inside the request's document number `document_index`."""

    document_index: int = 0
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class CitationLocation:
    """Where a citation points to: characters, chunks or pages of a document; or nowhere."""

    document_char: DocumentSpan | None = None
    document_chunk: DocumentSpan | None = None
    document_page: DocumentSpan | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """One source of a cited text."""

    title: str = ""
    source: str = ""
    location: CitationLocation = CitationLocation()
    source_content: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class CitationsPart:
    """Text of an answer with the sources it rests on."""

    kind: ClassVar = "citations"
    text: str = ""
    citations: tuple[Citation, ...] | None = None


@dataclass(frozen=True, slots=True)
class ToolUsePart:
    """A tool call of the model. `input` is the JSON object as the model spelled it."""

    kind: ClassVar = "tool_use"
    id: str
    name: str
    input: bytes
    thought_signature: str = ""


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """The answer to the tool use of that id: any JSON value, or the error's text with `is_error`."""

    kind: ClassVar = "tool_result"
    tool_use_id: str
    content: JsonValue = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class CacheCheckpointPart:
    """A mark up to which a provider may cache the request."""

    kind: ClassVar = "cache_checkpoint"


Part: TypeAlias = (
    ThinkingPart
    | TextPart
    | ImagePart
    | DocumentPart
    | CitationsPart
    | ToolUsePart
    | ToolResultPart
    | CacheCheckpointPart
)
"""One part of a message."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message: who says it, its parts in order, and free metadata (None and `{}` differ)."""

    role: str = ""
    parts: tuple[Part, ...] = ()
    meta: dict[str, JsonValue] | None = None
