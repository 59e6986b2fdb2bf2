"""What the two OpenAI encoders share."""

from __future__ import annotations

from typing import Final

from runlane.transcript.canonical import value_text
from runlane.transcript.parts import CitationsPart, DocumentPart, ImagePart, ToolResultPart, ToolUsePart
from runlane.transcript.providers.common import (
    MEDIA_TYPES,
    Placed,
    Wire,
    base64_text,
    filled_text,
    image_format,
    refuse_context,
    result_text,
    tool_input,
    web_uri,
)

_BREAKPOINT: Final = {"mode": "explicit"}


def mark(item: Placed, last: Wire | None) -> None:
    """Put a cache checkpoint on the content part before it."""
    if last is None:
        raise item.refuse("checkpoint", "follows no content part that can be cached")
    last["prompt_cache_breakpoint"] = dict(_BREAKPOINT)


def arguments(item: Placed, part: ToolUsePart) -> str:
    """The input of a tool use as its model spelled it."""
    tool_input(item, part)
    return part.input.decode()


def output_text(item: Placed, part: ToolResultPart) -> str:
    """A tool result as text. The API has no mark for an error, so that one is an object that says so."""
    text = result_text(item, part)
    return value_text({"error": part.content}, "content") if part.is_error else text


def cited_text(item: Placed, part: CitationsPart) -> str:
    """The text of a citations part without citations; a request can't carry any."""
    if part.citations:
        raise item.refuse("citations", "has citations, which a request can't carry")
    return filled_text(item, part.text)


def image_url(item: Placed, part: ImagePart) -> str:
    """The URL of an image, with its bytes inside where it has them."""
    name = image_format(item, part)
    return f"data:image/{name};base64,{base64_text(part.bytes)}" if part.bytes else web_uri(item, part.uri)


def file_data(item: Placed, part: DocumentPart) -> str:
    """A document's bytes as a data URL."""
    refuse_context(item, part)
    if not part.bytes:
        raise item.refuse("source", "has a source that the provider does not know")
    if part.format not in MEDIA_TYPES:
        raise item.refuse("document_format", "is in a format that the provider does not know")
    return f"data:{MEDIA_TYPES[part.format]};base64,{base64_text(part.bytes)}"
