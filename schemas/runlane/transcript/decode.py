"""JSON bytes to messages (contract 6.1, 6.2)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Final

from runlane import strictjson
from runlane.strictjson import MAX_BYTES, JsonValue, StrictJsonError
from runlane.transcript import fields as f
from runlane.transcript.errors import MessageError, missing, refused_by_gate, wrong_type
from runlane.transcript.fields import Fields
from runlane.transcript.parts import (
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
from runlane.transcript.sources import check_document, check_image
from runlane.transcript.spans import inputs_of_message, inputs_of_messages


def decode_message(data: bytes, *, max_bytes: int = MAX_BYTES) -> Message:
    """Decode one message. Its three keys may be absent; anything else that is off is a `MessageError`.

    The code of the error is `transcript.…` for a rule of contract 6 and `json.…` for one of the JSON gate.
    """
    return _message(_load(data, max_bytes), inputs_of_message(data))


def decode_messages(data: bytes, *, max_bytes: int = MAX_BYTES) -> tuple[Message | None, ...]:
    """Decode the payload of a transcript record: a list of messages, or null for none (contract 6.3).

    A null element stays None. Raises `MessageError`.
    """
    return _messages(_load(data, max_bytes), inputs_of_messages(data))


def validate_payload(data: bytes, *, max_bytes: int = MAX_BYTES) -> None:
    """Refuse with `MessageError` what `decode_messages` refuses; what the store runs at an append."""
    _messages(_load(data, max_bytes), itertools.repeat(b""))


def decode_metadata(data: bytes | None, *, max_bytes: int = MAX_BYTES) -> dict[str, JsonValue] | None:
    """Decode metadata on its own: absent bytes and `{}` are none; all but one object is a `MessageError`."""
    if data is None:
        return None
    value = _load(data, max_bytes)
    if not isinstance(value, dict):
        raise wrong_type("", "a JSON object")
    return value or None


def _load(data: bytes, max_bytes: int) -> JsonValue:
    try:
        return strictjson.loads_exact(data, max_bytes=max_bytes)
    except StrictJsonError as error:
        raise refused_by_gate(error) from error


def _messages(value: JsonValue, inputs: Iterator[bytes]) -> tuple[Message | None, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong_type("", "a list of messages or null")
    messages: list[Message | None] = []
    for index, item in enumerate(value):
        try:
            messages.append(None if item is None else _message(item, inputs))
        except MessageError as error:
            raise error.within(f"messages[{index}]") from None
    return tuple(messages)


_MESSAGE_FIELDS: Final = {"role", "parts", "meta"}


def _message(value: JsonValue, inputs: Iterator[bytes]) -> Message:
    if not isinstance(value, dict):
        raise wrong_type("", "a JSON object")
    f.only(value, _MESSAGE_FIELDS)
    meta = value.get("meta")
    if meta is not None and not isinstance(meta, dict):
        raise wrong_type("meta", "a JSON object")
    return Message(f.text(value, "role"), _parts(value.get("parts"), inputs), meta)


def _parts(value: JsonValue, inputs: Iterator[bytes]) -> tuple[Part, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong_type("parts", "a list of parts")
    parts: list[Part] = []
    for index, item in enumerate(value):
        try:
            parts.append(_part(item, inputs))
        except MessageError as error:
            raise error.within(f"parts[{index}]") from None
    return tuple(parts)


def _part(value: JsonValue, inputs: Iterator[bytes]) -> Part:
    if not isinstance(value, dict):
        raise wrong_type("", "a JSON object")
    kind = f.required_text(value, "kind")
    if kind not in _KINDS:
        raise MessageError("transcript.unknown_kind", "is none of the eight kinds", "kind")
    known, decode = _KINDS[kind]
    f.only(value, known)
    return decode(value, inputs)


def _thinking(value: Fields, _inputs: Iterator[bytes]) -> ThinkingPart:
    return ThinkingPart(
        f.text(value, "text"),
        f.text(value, "signature"),
        f.blob(value, "redacted"),
        f.integer(value, "index"),
        f.flag(value, "final"),
    )


def _text(value: Fields, _inputs: Iterator[bytes]) -> TextPart:
    return TextPart(f.text(value, "text"))


def _image(value: Fields, _inputs: Iterator[bytes]) -> ImagePart:
    part = ImagePart(f.required_text(value, "format"), f.blob(value, "bytes"), f.text(value, "uri"))
    check_image(part)
    # An empty spelling of the source that is not used is no content of the image.
    return part if part.bytes or part.bytes is None else ImagePart(part.format, uri=part.uri)


def _document(value: Fields, _inputs: Iterator[bytes]) -> DocumentPart:
    part = DocumentPart(
        f.required_text(value, "name"),
        f.text(value, "format"),
        f.blob(value, "bytes"),
        f.text(value, "text"),
        f.texts(value, "chunks"),
        f.text(value, "uri"),
        f.text(value, "context"),
        f.flag(value, "cite"),
    )
    check_document(part)
    return part


def _citations(value: Fields, _inputs: Iterator[bytes]) -> CitationsPart:
    items = value.get("citations")
    if items is None:
        return CitationsPart(f.text(value, "text"))
    if not isinstance(items, list):
        raise wrong_type("citations", "a list of citations")
    citations: list[Citation] = []
    for index, item in enumerate(items):
        try:
            citations.append(_citation(item))
        except MessageError as error:
            raise error.within(f"citations[{index}]") from None
    return CitationsPart(f.text(value, "text"), tuple(citations))


_CITATION_FIELDS: Final = {"title", "source", "location", "source_content"}
_LOCATION_FIELDS: Final = {"document_char", "document_chunk", "document_page"}
_SPAN_FIELDS: Final = {"document_index", "start", "end"}


def _citation(value: JsonValue) -> Citation:
    if not isinstance(value, dict):
        raise wrong_type("", "a JSON object")
    f.only(value, _CITATION_FIELDS)
    location = value.get("location")
    if location is None:
        raise missing("location")
    try:
        place = _location(location)
    except MessageError as error:
        raise error.within("location") from None
    return Citation(f.text(value, "title"), f.text(value, "source"), place, f.texts(value, "source_content"))


def _location(value: JsonValue) -> CitationLocation:
    if not isinstance(value, dict):
        raise wrong_type("", "a JSON object")
    f.only(value, _LOCATION_FIELDS)
    return CitationLocation(
        _span(value, "document_char"), _span(value, "document_chunk"), _span(value, "document_page")
    )


def _span(location: Fields, name: str) -> DocumentSpan | None:
    value = location.get(name)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise wrong_type(name, "a JSON object")
    try:
        f.only(value, _SPAN_FIELDS)
        return DocumentSpan(
            f.integer(value, "document_index"), f.integer(value, "start"), f.integer(value, "end")
        )
    except MessageError as error:
        raise error.within(name) from None


def _tool_use(value: Fields, inputs: Iterator[bytes]) -> ToolUsePart:
    if "input" not in value:
        raise missing("input")
    if not isinstance(value["input"], dict):
        raise wrong_type("input", "a JSON object")
    return ToolUsePart(
        f.required_text(value, "id"),
        f.required_text(value, "name"),
        next(inputs),
        f.text(value, "thought_signature"),
    )


def _tool_result(value: Fields, _inputs: Iterator[bytes]) -> ToolResultPart:
    return ToolResultPart(
        f.required_text(value, "tool_use_id"), value.get("content"), f.flag(value, "is_error")
    )


def _cache_checkpoint(_value: Fields, _inputs: Iterator[bytes]) -> CacheCheckpointPart:
    return CacheCheckpointPart()


_KINDS: Final[dict[str, tuple[set[str], Callable[[Fields, Iterator[bytes]], Part]]]] = {
    "thinking": ({"kind", "text", "signature", "redacted", "index", "final"}, _thinking),
    "text": ({"kind", "text"}, _text),
    "image": ({"kind", "format", "bytes", "uri"}, _image),
    "document": (
        {"kind", "name", "format", "bytes", "text", "chunks", "uri", "context", "cite"},
        _document,
    ),
    "citations": ({"kind", "text", "citations"}, _citations),
    "tool_use": ({"kind", "id", "name", "input", "thought_signature"}, _tool_use),
    "tool_result": ({"kind", "tool_use_id", "content", "is_error"}, _tool_result),
    "cache_checkpoint": ({"kind"}, _cache_checkpoint),
}
