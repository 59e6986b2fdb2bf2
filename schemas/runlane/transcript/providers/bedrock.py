"""Transcripts as requests of Bedrock's Converse operation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, assert_never

from runlane.transcript.parts import (
    CacheCheckpointPart,
    Citation,
    CitationsPart,
    DocumentPart,
    DocumentSpan,
    ImagePart,
    Message,
    Role,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)
from runlane.transcript.providers.common import (
    MEDIA_TYPES,
    Placed,
    Wire,
    filled_text,
    image_format,
    result_text,
    tool_input,
    tool_name,
    turns_of,
)

_TOOL_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_S3_URI: Final = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?", re.DOTALL)
_MAX_URI: Final = 1024
_MAX_NAME: Final = 200


def encode_bedrock(messages: Sequence[Message | None]) -> Wire:
    """The `messages` of a request, and `system` where the transcript starts with system messages.

    Raises `ProviderError` for what the operation can't represent. `validate_bedrock` is a check of its own.
    """
    request: Wire = {}
    turns: list[Wire] = []
    for at, turn in enumerate(turns_of(messages)):
        blocks = [_block(item) for item in turn.items]
        if at == 0 and turn.role == Role.SYSTEM:
            request["system"] = blocks
        else:
            turns.append({"role": str(turn.role), "content": blocks})
    request["messages"] = turns
    return request


def _block(item: Placed) -> Wire:
    part = item.part
    match part:
        case TextPart():
            return {"text": filled_text(item, part.text)}
        case ThinkingPart():
            return {"reasoningContent": _thinking(item, part)}
        case ImagePart():
            return {"image": _image(item, part)}
        case DocumentPart():
            return {"document": _document(item, part)}
        case CitationsPart():
            return {"citationsContent": _citations(item, part)}
        case ToolUsePart():
            value = tool_input(item, part)
            identity = {"toolUseId": _tool_id(item, part.id), "name": tool_name(item, part)}
            return {"toolUse": {**identity, "input": value}}
        case ToolResultPart():
            return {"toolResult": _tool_result(item, part)}
        case CacheCheckpointPart():
            return {"cachePoint": {"type": "default"}}
        case _:
            assert_never(part)


def _thinking(item: Placed, part: ThinkingPart) -> Wire:
    if part.redacted is not None:
        if part.text or part.signature:
            raise item.refuse("thinking_both", "is readable and redacted at once")
        return {"redactedContent": part.redacted}
    text: Wire = {"text": part.text}
    if part.signature:
        text["signature"] = part.signature
    return {"reasoningText": text}


def _image(item: Placed, part: ImagePart) -> Wire:
    source: Wire = {"bytes": part.bytes} if part.bytes else _s3_location(item, part.uri)
    return {"format": image_format(item, part), "source": source}


def _document(item: Placed, part: DocumentPart) -> Wire:
    if not 0 < len(part.name) <= _MAX_NAME:
        raise item.refuse("document_name", f"has a name of more than {_MAX_NAME} characters or none")
    document: Wire = {"name": part.name, "source": _document_source(item, part)}
    if part.format:
        if part.format not in MEDIA_TYPES:
            raise item.refuse("document_format", "is in a format that the provider does not know")
        document["format"] = part.format
    if part.context:
        document["context"] = part.context
    if part.cite:
        document["citations"] = {"enabled": True}
    return document


def _document_source(item: Placed, part: DocumentPart) -> Wire:
    if part.bytes:
        return {"bytes": part.bytes}
    if part.text:
        return {"text": part.text}
    if part.chunks:
        return {"content": [{"text": chunk} for chunk in part.chunks]}
    return _s3_location(item, part.uri)


def _s3_location(item: Placed, uri: str) -> Wire:
    if len(uri) > _MAX_URI or not _S3_URI.fullmatch(uri):
        raise item.refuse("uri", "has a URI that is not one of S3")
    return {"s3Location": {"uri": uri}}


def _citations(item: Placed, part: CitationsPart) -> Wire:
    content: list[Wire] = [{"text": filled_text(item, part.text)}]
    return {"content": content, "citations": [_citation(item, citation) for citation in part.citations or ()]}


def _citation(item: Placed, citation: Citation) -> Wire:
    wire: Wire = {}
    if citation.title:
        wire["title"] = citation.title
    if citation.source:
        wire["source"] = citation.source
    if citation.source_content:
        wire["sourceContent"] = [{"text": text} for text in citation.source_content]
    place = citation.location
    spans = {
        "documentChar": place.document_char,
        "documentChunk": place.document_chunk,
        "documentPage": place.document_page,
    }
    locations: Wire = {name: _span(item, span) for name, span in spans.items() if span is not None}
    if len(locations) > 1:
        raise item.refuse("citation_location", "has a citation with more than one location")
    if locations:
        wire["location"] = locations
    return wire


def _span(item: Placed, span: DocumentSpan) -> Wire:
    if min(span.document_index, span.start, span.end) < 0:
        raise item.refuse("citation_location", "has a citation with a negative position")
    return {"documentIndex": span.document_index, "start": span.start, "end": span.end}


def _tool_id(item: Placed, tool_use_id: str) -> str:
    if not _TOOL_ID.fullmatch(tool_use_id):
        raise item.refuse("tool_id", "has an id outside [a-zA-Z0-9_.:-]{1,64}")
    return tool_use_id


def _tool_result(item: Placed, part: ToolResultPart) -> Wire:
    return {
        "toolUseId": _tool_id(item, part.tool_use_id),
        "content": [{"text": result_text(item, part)}],
        "status": "error" if part.is_error else "success",
    }
