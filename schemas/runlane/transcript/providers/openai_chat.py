"""Transcripts as requests of OpenAI's Chat Completions API."""

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
    ToolResultPart,
    ToolUsePart,
)
from runlane.transcript.providers.common import Placed, Wire, filled_text, tool_name, turns_of
from runlane.transcript.providers.openai import arguments, cited_text, file_data, image_url, mark, output_text


def encode_openai_chat(messages: Sequence[Message | None]) -> Wire:
    """The `messages` of a request: a tool result becomes a message of its own.

    The API wants results first in their turn and tool uses last in theirs, and knows no thinking; anything
    else is a `ProviderError`, since parts are never put in another order. A failed result is the object
    `{"error": …}`. A cache checkpoint marks the content part before it.
    """
    encoder = _Encoder()
    for turn in turns_of(messages):
        if turn.role == Role.ASSISTANT:
            encoder.assistant(turn.items)
        else:
            encoder.asking(turn.role, turn.items)
    return {"messages": encoder.messages}


class _Encoder:
    def __init__(self) -> None:
        self.messages: list[Wire] = []
        self.last: Wire | None = None

    def asking(self, role: str, items: Sequence[Placed]) -> None:
        """A turn of the system or of the user, with the results that start it."""
        content: list[Wire] = []
        for item in items:
            if isinstance(item.part, CacheCheckpointPart):
                mark(item, self.last)
            elif isinstance(item.part, ToolResultPart):
                if content:
                    raise item.refuse("part_order", "must come before other parts of its turn")
                self.last = {"type": "text", "text": output_text(item, item.part)}
                identity = {"role": "tool", "tool_call_id": item.part.tool_use_id}
                self.messages.append({**identity, "content": [self.last]})
            else:
                self.last = _content_part(item)
                content.append(self.last)
        if content:
            self.messages.append({"role": str(role), "content": content})

    def assistant(self, items: Sequence[Placed]) -> None:
        """A turn of the model: text, then tool calls."""
        content: list[Wire] = []
        calls: list[Wire] = []
        for item in items:
            if isinstance(item.part, CacheCheckpointPart):
                mark(item, self.last)
            elif isinstance(item.part, ToolUsePart):
                function = {"name": tool_name(item, item.part), "arguments": arguments(item, item.part)}
                calls.append({"id": item.part.id, "type": "function", "function": function})
                self.last = None
            elif calls:
                raise item.refuse("part_order", "must come before the tool uses of its turn")
            else:
                self.last = _content_part(item)
                content.append(self.last)
        message: Wire = {"role": "assistant"}
        if content:
            message["content"] = content
        if calls:
            message["tool_calls"] = calls
        if len(message) > 1:
            self.messages.append(message)


def _content_part(item: Placed) -> Wire:
    part = item.part
    match part:
        case TextPart():
            return {"type": "text", "text": filled_text(item, part.text)}
        case CitationsPart():
            return {"type": "text", "text": cited_text(item, part)}
        case ImagePart():
            return {"type": "image_url", "image_url": {"url": image_url(item, part)}}
        case DocumentPart():
            return {"type": "file", "file": {"filename": part.name, "file_data": file_data(item, part)}}
        case _:
            raise item.refuse("part_kind", "is of a kind that the provider does not know")
