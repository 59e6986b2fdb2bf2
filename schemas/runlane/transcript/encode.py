"""Messages to canonical JSON bytes (contract 6.1, 6.2)."""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from typing import assert_never

from runlane import strictjson
from runlane.strictjson import MAX_BYTES, StrictJsonError
from runlane.transcript.canonical import compact, escape_five, string_text, value_text
from runlane.transcript.errors import MessageError, missing, refused_by_gate, wrong_type
from runlane.transcript.parts import (
    CacheCheckpointPart,
    Citation,
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


def encode_message(message: Message, *, max_bytes: int = MAX_BYTES) -> bytes:
    """The canonical bytes of one message; `decode_message` gives the same message back.

    Raises `MessageError` where a part breaks a rule of its kind or the result would not pass the gate.
    """
    return _finish(_message_text(message, max_bytes), max_bytes)


def encode_messages(messages: Sequence[Message | None], *, max_bytes: int = MAX_BYTES) -> bytes:
    """The canonical payload of a transcript record, null for None.

    Raises `MessageError` like `encode_message`, and names the message.
    """
    texts: list[str] = []
    for index, message in enumerate(messages):
        try:
            texts.append("null" if message is None else _message_text(message, max_bytes))
        except MessageError as error:
            raise error.within(f"messages[{index}]") from None
    return _finish("[" + ",".join(texts) + "]", max_bytes)


def _finish(text: str, max_bytes: int) -> bytes:
    try:
        data = escape_five(text).encode()
    except UnicodeEncodeError:
        data = None
    if data is None:
        raise refused_by_gate(StrictJsonError("json.unpaired_surrogate"))
    try:
        strictjson.check(data, max_bytes=max_bytes)
    except StrictJsonError as error:
        raise refused_by_gate(error) from error
    return data


def _message_text(message: Message, max_bytes: int) -> str:
    texts: list[str] = []
    for index, part in enumerate(message.parts):
        try:
            _refuse_oversize(part, max_bytes)
            texts.append(_part_text(part))
        except MessageError as error:
            raise error.within(f"parts[{index}]") from None
    parts = "[" + ",".join(texts) + "]" if texts else "null"
    meta = "null" if message.meta is None else value_text(message.meta, "meta")
    return f'{{"role":{string_text(message.role, "role")},"parts":{parts},"meta":{meta}}}'


def _refuse_oversize(part: Part, max_bytes: int) -> None:
    """Stop before a huge part is copied."""
    match part:
        case ImagePart() | DocumentPart():
            size = len(part.bytes or b"")
        case ThinkingPart():
            size = len(part.redacted or b"") + len(part.text)
        case TextPart() | CitationsPart():
            size = len(part.text)
        case ToolUsePart():
            size = len(part.input)
        case _:
            size = 0
    if size > max_bytes:
        raise refused_by_gate(StrictJsonError("json.too_large"))


def _part_text(part: Part) -> str:
    match part:
        case TextPart():
            return f'{{"kind":"text","text":{string_text(part.text, "text")}}}'
        case ToolUsePart():
            return _tool_use_text(part)
        case ToolResultPart():
            return _tool_result_text(part)
        case ThinkingPart():
            return _thinking_text(part)
        case ImagePart():
            return _image_text(part)
        case DocumentPart():
            return _document_text(part)
        case CitationsPart():
            return _citations_text(part)
        case CacheCheckpointPart():
            return '{"kind":"cache_checkpoint"}'
        case _:
            assert_never(part)


def _thinking_text(part: ThinkingPart) -> str:
    return (
        f'{{"kind":"thinking","text":{string_text(part.text, "text")}'
        f',"signature":{string_text(part.signature, "signature")},"redacted":{_blob_text(part.redacted)}'
        f',"index":{_integer_text(part.index, "index")},"final":{_flag_text(part.final, "final")}}}'
    )


def _image_text(part: ImagePart) -> str:
    check_image(part)
    source = f'"uri":{string_text(part.uri, "uri")}' if part.uri else f'"bytes":{_blob_text(part.bytes)}'
    return f'{{"kind":"image","format":{string_text(part.format, "format")},{source}}}'


def _document_text(part: DocumentPart) -> str:
    check_document(part)
    return (
        f'{{"kind":"document","name":{string_text(part.name, "name")}'
        f',"format":{string_text(part.format, "format")},"bytes":{_blob_text(part.bytes)}'
        f',"text":{string_text(part.text, "text")},"chunks":{_texts_text(part.chunks, "chunks")}'
        f',"uri":{string_text(part.uri, "uri")},"context":{string_text(part.context, "context")}'
        f',"cite":{_flag_text(part.cite, "cite")}}}'
    )


def _citations_text(part: CitationsPart) -> str:
    if part.citations is None:
        citations = "null"
    else:
        citations = "[" + ",".join([_citation_text(citation) for citation in part.citations]) + "]"
    return f'{{"kind":"citations","text":{string_text(part.text, "text")},"citations":{citations}}}'


def _citation_text(citation: Citation) -> str:
    place = citation.location
    return (
        f'{{"title":{string_text(citation.title, "title")},"source":{string_text(citation.source, "source")}'
        f',"location":{{"document_char":{_span_text(place.document_char)}'
        f',"document_chunk":{_span_text(place.document_chunk)}'
        f',"document_page":{_span_text(place.document_page)}}}'
        f',"source_content":{_texts_text(citation.source_content, "source_content")}}}'
    )


def _span_text(span: DocumentSpan | None) -> str:
    if span is None:
        return "null"
    return (
        f'{{"document_index":{_integer_text(span.document_index, "document_index")}'
        f',"start":{_integer_text(span.start, "start")},"end":{_integer_text(span.end, "end")}}}'
    )


def _tool_use_text(part: ToolUsePart) -> str:
    if not part.id:
        raise missing("id")
    if not part.name:
        raise missing("name")
    return (
        f'{{"kind":"tool_use","id":{string_text(part.id, "id")},"name":{string_text(part.name, "name")}'
        f',"input":{_input_text(part.input)}'
        f',"thought_signature":{string_text(part.thought_signature, "thought_signature")}}}'
    )


def _input_text(data: bytes) -> str:
    try:
        # Bytes that parse only together with their surroundings could change the message around them.
        value = strictjson.loads(data, max_bytes=len(data))
    except StrictJsonError as error:
        raise refused_by_gate(error, "input") from error
    if not isinstance(value, dict):
        raise wrong_type("input", "a JSON object")
    return compact(data.decode())


def _tool_result_text(part: ToolResultPart) -> str:
    if not part.tool_use_id:
        raise missing("tool_use_id")
    return (
        f'{{"kind":"tool_result","tool_use_id":{string_text(part.tool_use_id, "tool_use_id")}'
        f',"content":{value_text(part.content, "content")}'
        f',"is_error":{_flag_text(part.is_error, "is_error")}}}'
    )


def _blob_text(data: bytes | None) -> str:
    return "null" if data is None else f'"{binascii.b2a_base64(data, newline=False).decode()}"'


def _texts_text(texts: Sequence[str] | None, where: str) -> str:
    return "null" if texts is None else "[" + ",".join([string_text(text, where) for text in texts]) + "]"


def _flag_text(value: object, where: str) -> str:
    if not isinstance(value, bool):
        raise wrong_type(where, "true or false")
    return "true" if value else "false"


def _integer_text(value: object, where: str) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(where, "an integer")
    if not -(2**63) <= value < 2**63:
        raise MessageError("transcript.integer_range", "must fit into 64 bits", where)
    return str(value)
