"""Transcripts as requests of Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, assert_never

from runlane.transcript.parts import (
    CacheCheckpointPart,
    Citation,
    CitationsPart,
    DocumentPart,
    ImagePart,
    Message,
    Role,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)
from runlane.transcript.providers.common import (
    TEXT_FORMATS,
    Placed,
    Wire,
    base64_text,
    filled_text,
    image_format,
    result_text,
    tool_input,
    tool_name,
    turns_of,
    web_uri,
)

_TOOL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")


def encode_anthropic(messages: Sequence[Message | None]) -> Wire:
    """The `messages` of a request, and `system` where the transcript starts with system messages.

    A cache checkpoint marks the block before it. Raises `ProviderError` for what the API can't represent.
    """
    request: Wire = {}
    turns: list[Wire] = []
    last: Wire | None = None
    for at, turn in enumerate(turns_of(messages)):
        blocks: list[Wire] = []
        for item in turn.items:
            if isinstance(item.part, CacheCheckpointPart):
                _mark(item, last)
            else:
                last = _block(item)
                blocks.append(last)
        if at == 0 and turn.role == Role.SYSTEM:
            request["system"] = blocks
        elif blocks:
            turns.append({"role": str(turn.role), "content": blocks})
    request["messages"] = turns
    return request


def _mark(item: Placed, block: Wire | None) -> None:
    if block is None or block["type"] in ("thinking", "redacted_thinking"):
        raise item.refuse("checkpoint", "follows no block that can be cached")
    block["cache_control"] = {"type": "ephemeral"}


def _block(item: Placed) -> Wire:
    part = item.part
    match part:
        case TextPart():
            return {"type": "text", "text": filled_text(item, part.text)}
        case ThinkingPart():
            return _thinking(item, part)
        case ImagePart():
            return {"type": "image", "source": _image_source(item, part)}
        case DocumentPart():
            return _document(item, part)
        case CitationsPart():
            citations = [_citation(item, citation) for citation in part.citations or ()]
            return {"type": "text", "text": filled_text(item, part.text), "citations": citations}
        case ToolUsePart():
            value = tool_input(item, part)
            identity = {"id": _tool_id(item, part.id), "name": tool_name(item, part)}
            return {"type": "tool_use", **identity, "input": value}
        case ToolResultPart():
            block: Wire = {"type": "tool_result", "tool_use_id": _tool_id(item, part.tool_use_id)}
            return block | {"content": result_text(item, part), "is_error": part.is_error}
        case CacheCheckpointPart():
            raise item.refuse("checkpoint", "is no block of its own")
        case _:
            assert_never(part)


def _tool_id(item: Placed, tool_use_id: str) -> str:
    if not _TOOL_ID.fullmatch(tool_use_id):
        raise item.refuse("tool_id", "has an id outside [a-zA-Z0-9_-]+")
    return tool_use_id


def _thinking(item: Placed, part: ThinkingPart) -> Wire:
    if part.redacted is None:
        if not part.signature:
            raise item.refuse("thinking_signature", "has no signature")
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    if part.text or part.signature:
        raise item.refuse("thinking_both", "is readable and redacted at once")
    if not part.redacted.isascii():
        raise item.refuse("redacted", "was redacted by another provider")
    return {"type": "redacted_thinking", "data": part.redacted.decode()}


def _image_source(item: Placed, part: ImagePart) -> Wire:
    media_type = f"image/{image_format(item, part)}"
    if part.bytes:
        return {"type": "base64", "media_type": media_type, "data": base64_text(part.bytes)}
    return {"type": "url", "url": web_uri(item, part.uri)}


def _document(item: Placed, part: DocumentPart) -> Wire:
    block: Wire = {"type": "document", "source": _document_source(item, part), "title": part.name}
    if part.context:
        block["context"] = part.context
    if part.cite:
        block["citations"] = {"enabled": True}
    return block


def _document_source(item: Placed, part: DocumentPart) -> Wire:
    if part.uri:
        if part.format not in ("", "pdf"):
            raise item.refuse("document_format", "is by URI and no PDF")
        return {"type": "url", "url": web_uri(item, part.uri)}
    if part.chunks:
        return {"type": "content", "content": [{"type": "text", "text": chunk} for chunk in part.chunks]}
    if part.text:
        return {"type": "text", "media_type": "text/plain", "data": part.text}
    data = part.bytes
    if not data:
        raise item.refuse("source", "has no source")
    if part.format == "pdf":
        return {"type": "base64", "media_type": "application/pdf", "data": base64_text(data)}
    if part.format not in TEXT_FORMATS:
        raise item.refuse("document_format", "is neither a PDF nor text")
    try:
        return {"type": "text", "media_type": "text/plain", "data": data.decode()}
    except UnicodeDecodeError:
        pass
    raise item.refuse("document_text", "is text in another encoding than UTF-8")


def _citation(item: Placed, citation: Citation) -> Wire:
    place = citation.location
    if citation.source:
        raise item.refuse("citation_source", "cites a source by name, which the provider does not know")
    wire: Wire = {"cited_text": "".join(citation.source_content or ())}
    spans = (place.document_char, place.document_chunk, place.document_page)
    if [span is not None for span in spans].count(True) != 1:
        raise item.refuse("citation_location", "has a citation without exactly one location")
    for span, kind, unit in zip(
        spans,
        ("char_location", "content_block_location", "page_location"),
        ("char_index", "block_index", "page_number"),
        strict=True,
    ):
        if span is not None:
            wire |= {"type": kind, "document_index": span.document_index}
            wire |= {f"start_{unit}": span.start, f"end_{unit}": span.end}
    wire["document_title"] = citation.title or None
    return wire
