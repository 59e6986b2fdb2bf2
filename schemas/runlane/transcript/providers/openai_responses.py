"""Transcripts as requests of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Sequence

from runlane.transcript.parts import (
    CacheCheckpointPart,
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
    Placed,
    Wire,
    filled_text,
    refuse_context,
    tool_name,
    turns_of,
    web_uri,
)
from runlane.transcript.providers.openai import arguments, cited_text, file_data, image_url, mark, output_text


def encode_openai_responses(messages: Sequence[Message | None]) -> Wire:
    """The `input` of a request: one item after the other in the order of the parts.

    Thinking goes back only where it came from this API: its signature is the item's id and its redacted bytes
    the encrypted content. A failed result is the object `{"error": …}`. A cache checkpoint marks the content
    part before it. Raises `ProviderError` for what the API can't represent.
    """
    items: list[Wire] = []
    last: Wire | None = None
    for turn in turns_of(messages):
        content: list[Wire] | None = None
        for item in turn.items:
            if isinstance(item.part, CacheCheckpointPart):
                mark(item, last)
            elif turn.role == Role.ASSISTANT:
                items.append(_output_item(item))
                last = None
            elif isinstance(item.part, ToolResultPart):
                content = None
                last = {"type": "input_text", "text": output_text(item, item.part)}
                call: Wire = {"type": "function_call_output", "call_id": item.part.tool_use_id}
                items.append({**call, "output": [last]})
            else:
                last = _content_part(item)
                if content is None:
                    content = []
                    items.append({"type": "message", "role": str(turn.role), "content": content})
                content.append(last)
    return {"input": items}


def _output_item(item: Placed) -> Wire:
    part = item.part
    match part:
        case TextPart():
            return {"type": "message", "role": "assistant", "content": filled_text(item, part.text)}
        case CitationsPart():
            return {"type": "message", "role": "assistant", "content": cited_text(item, part)}
        case ThinkingPart():
            return _reasoning(item, part)
        case ToolUsePart():
            call: Wire = {"type": "function_call", "call_id": part.id, "name": tool_name(item, part)}
            return {**call, "arguments": arguments(item, part)}
        case _:
            raise item.refuse("part_kind", "is of a kind that the provider does not know")


def _reasoning(item: Placed, part: ThinkingPart) -> Wire:
    if not part.signature.startswith("rs_"):
        raise item.refuse("thinking_signature", "carries no id of a reasoning item")
    summary: list[Wire] = [{"type": "summary_text", "text": part.text}] if part.text else []
    wire: Wire = {"type": "reasoning", "id": part.signature, "summary": summary}
    if part.redacted is not None:
        if not part.redacted.isascii():
            raise item.refuse("redacted", "was redacted by another provider")
        wire["encrypted_content"] = part.redacted.decode()
    return wire


def _content_part(item: Placed) -> Wire:
    part = item.part
    match part:
        case TextPart():
            return {"type": "input_text", "text": filled_text(item, part.text)}
        case ImagePart():
            return {"type": "input_image", "detail": "auto", "image_url": image_url(item, part)}
        case DocumentPart():
            return _file(item, part)
        case _:
            raise item.refuse("part_kind", "is of a kind that the provider does not know")


def _file(item: Placed, part: DocumentPart) -> Wire:
    if not part.uri:
        return {"type": "input_file", "filename": part.name, "file_data": file_data(item, part)}
    refuse_context(item, part)
    return {"type": "input_file", "filename": part.name, "file_url": web_uri(item, part.uri)}
