"""Answers of Anthropic's Messages API as messages, whole or streamed."""

from __future__ import annotations

from collections.abc import Mapping

from runlane.transcript.parts import (
    Citation,
    CitationLocation,
    CitationsPart,
    DocumentSpan,
    Message,
    Part,
    Role,
    TextPart,
    ThinkingPart,
)
from runlane.transcript.providers.reading import Answer, incomplete, malformed, out_of_order, tool_use


def decode_anthropic(response: Mapping[str, object]) -> Message:
    """The message of a whole response. Text blocks without text are dropped: no request could hold them.

    Raises `ProviderError`.
    """
    parts: list[Part] = []
    for index, block in enumerate(Answer(response).children("content")):
        parts += _parts(block, index, block.fields.get("input"))
    return Message(Role.ASSISTANT, tuple(parts))


class AnthropicStream:
    """Collects the events of a streamed response.

    stream = AnthropicStream()
    for event in events:
        stream.feed(event)
    message = stream.message()
    """

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._stopped = False

    def feed(self, event: Mapping[str, object]) -> None:
        """Take the next event; raises `ProviderError` for one that does not fit."""
        answer = Answer(event, "event")
        match answer.text("type"):
            case "content_block_start":
                if answer.integer("index") != len(self._blocks):
                    raise out_of_order(answer.where)
                where = f"content[{len(self._blocks)}]"
                self._blocks.append(_Block(Answer(answer.child("content_block").fields, where)))
            case "content_block_delta":
                self._block(answer).add(answer.child("delta"))
            case "content_block_stop":
                self._block(answer).done = True
            case "message_stop":
                self._stopped = True
            case "error":
                raise malformed(answer.where, "reports an error of the provider")
            case _:
                pass

    def message(self) -> Message:
        """The whole message; a `ProviderError` before the stream has ended."""
        if not self._stopped or not all(block.done for block in self._blocks):
            raise incomplete()
        parts: list[Part] = []
        for index, block in enumerate(self._blocks):
            parts += block.parts(index)
        return Message(Role.ASSISTANT, tuple(parts))

    def _block(self, answer: Answer) -> _Block:
        index = answer.integer("index")
        if not 0 <= index < len(self._blocks) or self._blocks[index].done:
            raise out_of_order(answer.where)
        return self._blocks[index]


class _Block:
    """A content block that is being streamed."""

    def __init__(self, start: Answer) -> None:
        self.start = start
        self.pieces: dict[str, list[str]] = {}
        self.citations: list[object] = []
        self.done = False

    def add(self, delta: Answer) -> None:
        match delta.text("type"):
            case "text_delta":
                self._append("text", delta.text("text"))
            case "thinking_delta":
                self._append("thinking", delta.text("thinking"))
            case "signature_delta":
                self._append("signature", delta.text("signature"))
            case "input_json_delta":
                self._append("input", delta.text("partial_json"))
            case "citations_delta":
                self.citations.append(delta.child("citation").fields)
            case _:
                raise delta.unknown()

    def parts(self, index: int) -> list[Part]:
        fields = dict(self.start.fields)
        for name, pieces in self.pieces.items():
            before = fields.get(name)
            fields[name] = (before if isinstance(before, str) else "") + "".join(pieces)
        if self.citations:
            fields["citations"] = self.citations
        block = Answer(fields, self.start.where)
        return _parts(block, index, fields.get("input"))

    def _append(self, name: str, piece: str) -> None:
        self.pieces.setdefault(name, []).append(piece)


def _parts(block: Answer, index: int, raw_input: object) -> list[Part]:
    match block.text("type"):
        case "text":
            text = block.text("text")
            citations = tuple(_citation(citation) for citation in block.children("citations"))
            if citations:
                return [CitationsPart(text, citations)]
            return [TextPart(text)] if text else []
        case "thinking":
            return [ThinkingPart(block.text("thinking"), block.text_or("signature"), index=index, final=True)]
        case "redacted_thinking":
            return [ThinkingPart(redacted=block.text("data").encode(), index=index, final=True)]
        case "tool_use":
            return [tool_use(block, block.text("id"), block.text("name"), raw_input)]
        case _:
            raise block.unknown()


def _citation(citation: Answer) -> Citation:
    match citation.text("type"):
        case "char_location":
            place = CitationLocation(document_char=_span(citation, "char_index"))
        case "content_block_location":
            place = CitationLocation(document_chunk=_span(citation, "block_index"))
        case "page_location":
            place = CitationLocation(document_page=_span(citation, "page_number"))
        case _:
            raise citation.unknown()
    cited = citation.text("cited_text")
    return Citation(citation.text_or("document_title"), "", place, (cited,) if cited else None)


def _span(citation: Answer, unit: str) -> DocumentSpan:
    return DocumentSpan(
        citation.integer("document_index"), citation.integer(f"start_{unit}"), citation.integer(f"end_{unit}")
    )
