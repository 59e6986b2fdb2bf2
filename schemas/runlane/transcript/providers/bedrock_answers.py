"""Answers of Bedrock's Converse operation as messages, whole or streamed."""

from __future__ import annotations

from collections.abc import Mapping

from runlane.transcript.errors import ProviderError
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


def decode_bedrock(response: Mapping[str, object]) -> Message:
    """The message of a whole response. Text blocks without text are dropped: no request could hold them.

    Raises `ProviderError`.
    """
    parts: list[Part] = []
    message = Answer(response).child("output").child("message")
    for index, block in enumerate(message.children("content")):
        parts += _parts(block, index)
    return Message(Role.ASSISTANT, tuple(parts))


class BedrockStream:
    """Collects the events of `ConverseStream`; used like `AnthropicStream`."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._stopped = False

    def feed(self, event: Mapping[str, object]) -> None:
        """Take the next event; raises `ProviderError` for one that does not fit."""
        answer = Answer(event, "event")
        for name in event:
            match name:
                case "contentBlockStart":
                    self._start(answer.child(name))
                case "contentBlockDelta":
                    self._delta(answer.child(name))
                case "contentBlockStop":
                    stop = answer.child(name)
                    self._open(stop, stop.integer("contentBlockIndex")).done = True
                case "messageStop":
                    self._stopped = True
                case "messageStart" | "metadata":
                    pass
                case _:
                    raise malformed(answer.where, "reports an error of the provider")

    def message(self) -> Message:
        """The whole message; a `ProviderError` before the stream has ended."""
        if not self._stopped or not all(block.done for block in self._blocks.values()):
            raise incomplete()
        parts: list[Part] = []
        for index, block in sorted(self._blocks.items()):
            parts += block.parts(index)
        return Message(Role.ASSISTANT, tuple(parts))

    def _start(self, start: Answer) -> None:
        index = start.integer("contentBlockIndex")
        block = start.child("start")
        if index in self._blocks:
            raise out_of_order(start.where)
        if not block.has("toolUse"):
            raise block.unknown()
        self._blocks[index] = _Block(block.child("toolUse"))

    def _delta(self, delta: Answer) -> None:
        # Only tool uses are announced; text and reasoning begin with their first delta.
        index = delta.integer("contentBlockIndex")
        if index not in self._blocks:
            self._blocks[index] = _Block(None)
        self._open(delta, index).add(delta.child("delta"))

    def _open(self, answer: Answer, index: int) -> _Block:
        block = self._blocks.get(index)
        if block is None or block.done:
            raise out_of_order(answer.where)
        return block


class _Block:
    """A content block that is being streamed; `tool` is the announcement of a tool use."""

    def __init__(self, tool: Answer | None) -> None:
        self.tool = tool
        self.input: list[str] = []
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.signature: list[str] = []
        self.redacted: list[bytes] = []
        self.citations: list[Answer] = []
        self.done = False

    def add(self, delta: Answer) -> None:
        if delta.has("text"):
            self.text.append(delta.text("text"))
        elif delta.has("toolUse") and self.tool is not None:
            self.input.append(delta.child("toolUse").text("input"))
        elif delta.has("citation"):
            self.citations.append(delta.child("citation"))
        elif delta.has("reasoningContent"):
            self._reason(delta.child("reasoningContent"))
        else:
            raise delta.unknown()

    def parts(self, index: int) -> list[Part]:
        if self.tool is not None:
            identity = self.tool.text("toolUseId"), self.tool.text("name")
            return [tool_use(self.tool, *identity, "".join(self.input))]
        if self.redacted:
            return [ThinkingPart(redacted=b"".join(self.redacted), index=index, final=True)]
        if self.thinking or self.signature:
            return [ThinkingPart("".join(self.thinking), "".join(self.signature), index=index, final=True)]
        text = "".join(self.text)
        if self.citations:
            return [CitationsPart(text, tuple(map(_citation, self.citations)))]
        return [TextPart(text)] if text else []

    def _reason(self, delta: Answer) -> None:
        if delta.has("text"):
            self.thinking.append(delta.text("text"))
        elif delta.has("signature"):
            self.signature.append(delta.text("signature"))
        else:
            self.redacted.append(delta.blob("redactedContent"))


def _parts(block: Answer, index: int) -> list[Part]:
    if block.has("text"):
        text = block.text("text")
        return [TextPart(text)] if text else []
    if block.has("reasoningContent"):
        return [_thinking(block.child("reasoningContent"), index)]
    if block.has("toolUse"):
        use = block.child("toolUse")
        return [tool_use(use, use.text("toolUseId"), use.text("name"), use.fields.get("input"))]
    if block.has("citationsContent"):
        return [_citations(block.child("citationsContent"))]
    raise block.unknown()


def _thinking(reasoning: Answer, index: int) -> ThinkingPart:
    if reasoning.has("redactedContent"):
        return ThinkingPart(redacted=reasoning.blob("redactedContent"), index=index, final=True)
    text = reasoning.child("reasoningText")
    return ThinkingPart(text.text("text"), text.text_or("signature"), index=index, final=True)


def _citations(content: Answer) -> CitationsPart:
    text = "".join(piece.text("text") for piece in content.children("content"))
    return CitationsPart(text, tuple(map(_citation, content.children("citations"))))


def _citation(citation: Answer) -> Citation:
    content = tuple(piece.text("text") for piece in citation.children("sourceContent"))
    place = _location(citation.child("location")) if citation.has("location") else CitationLocation()
    return Citation(citation.text_or("title"), citation.text_or("source"), place, content or None)


def _location(location: Answer) -> CitationLocation:
    spans = [
        _span(location.child(name)) if location.has(name) else None
        for name in ("documentChar", "documentChunk", "documentPage")
    ]
    if not any(spans):
        raise ProviderError("provider.unknown_block", "is a place that no citation has", location.where)
    return CitationLocation(*spans)


def _span(span: Answer) -> DocumentSpan:
    return DocumentSpan(span.integer("documentIndex", 0), span.integer("start", 0), span.integer("end", 0))
