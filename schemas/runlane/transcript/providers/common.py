"""What all encoders share: turns of one role, which parts a role may hold, and the pieces that need checks.

An encoder keeps the order of all parts. Adjacent messages of one role become one turn, since providers want
the roles to alternate; what a provider can't say is a `ProviderError` that names the part, never left out.
Of a part only `index` and `final`, and of a message only `meta`, are ours alone and not sent.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from runlane import strictjson
from runlane.strictjson import StrictJsonError
from runlane.transcript.canonical import value_text
from runlane.transcript.errors import MessageError, ProviderError
from runlane.transcript.parts import (
    CacheCheckpointPart,
    CitationsPart,
    DocumentPart,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
)

Wire: TypeAlias = dict[str, object]
"""A piece of a request as the provider's SDK takes it."""

TEXT_FORMATS: Final = {"csv", "html", "md", "txt"}
"""Document formats that are text, so that their bytes can be sent as such."""

MEDIA_TYPES: Final = {
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "html": "text/html",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
"""Media types of the known document formats."""

IMAGE_FORMATS: Final = {"gif", "jpeg", "png", "webp"}
"""Image formats that every provider takes."""

_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLE_PARTS: Final[dict[str, tuple[type[Part], ...]]] = {
    Role.SYSTEM: (TextPart, CacheCheckpointPart),
    Role.USER: (TextPart, ImagePart, DocumentPart, ToolResultPart, CacheCheckpointPart),
    Role.ASSISTANT: (ThinkingPart, TextPart, CitationsPart, ToolUsePart, CacheCheckpointPart),
}


class Placed(NamedTuple):
    """A part and its place in the transcript."""

    part: Part
    where: str

    def refuse(self, rule: str, reason: str) -> ProviderError:
        """The error for a part that the provider can't represent."""
        return ProviderError(f"provider.{rule}", f"the {self.part.kind} part {reason}", self.where)


@dataclass(frozen=True, slots=True)
class Turn:
    """The parts of adjacent messages of one role."""

    role: str
    items: list[Placed]


def turns_of(messages: Sequence[Message | None]) -> list[Turn]:
    """Group messages into turns; refuse absent and empty messages, unknown roles and misplaced parts."""
    turns: list[Turn] = []
    for at, message in enumerate(messages):
        if message is None:
            raise ProviderError("provider.message_absent", "the message is absent", f"messages[{at}]")
        if message.role not in _ROLE_PARTS:
            raise ProviderError(
                "provider.role", "the role is not system, user or assistant", f"messages[{at}]"
            )
        if not message.parts:
            raise ProviderError("provider.message_empty", "the message has no parts", f"messages[{at}]")
        if not turns or turns[-1].role != message.role:
            turns.append(Turn(message.role, []))
        turns[-1].items.extend(_placed(message, at))
    return turns


def _placed(message: Message, at: int) -> list[Placed]:
    items = [Placed(part, f"messages[{at}].parts[{n}]") for n, part in enumerate(message.parts)]
    allowed = _ROLE_PARTS[message.role]
    for item in items:
        if not isinstance(item.part, allowed):
            raise item.refuse("part_role", f"has no place in a message of the {Role(message.role)} role")
    return items


def filled_text(item: Placed, text: str) -> str:
    """Text that is not empty, since providers refuse empty text."""
    if not text:
        raise item.refuse("empty_text", "has no text")
    return text


def tool_name(item: Placed, part: ToolUsePart) -> str:
    """A tool name in the letters that all providers allow."""
    if not _TOOL_NAME.fullmatch(part.name):
        raise item.refuse("tool_name", "names a tool outside [a-zA-Z0-9_-]{1,64}")
    return part.name


def tool_input(item: Placed, part: ToolUsePart) -> Wire:
    """The input of a tool use as an object; it carries no thought signature, which no provider here knows."""
    if part.thought_signature:
        raise item.refuse("thought_signature", "has a thought signature, which the provider does not know")
    try:
        value = strictjson.loads(part.input, max_bytes=len(part.input))
    except StrictJsonError as error:
        raise ProviderError(error.rule, str(error), f"{item.where}.input") from error
    if not isinstance(value, dict):
        raise item.refuse("input", "has an input that is no object")
    return {**value}


def result_text(item: Placed, part: ToolResultPart) -> str:
    """The content of a tool result as text: a string as it is, any other value as canonical JSON."""
    if isinstance(part.content, str):
        return part.content
    try:
        return value_text(part.content, "content")
    except MessageError as error:
        raise ProviderError(error.code, error.rule, f"{item.where}.{error.where}") from error


def base64_text(data: bytes) -> str:
    """Standard base64."""
    return binascii.b2a_base64(data, newline=False).decode()


def image_format(item: Placed, part: ImagePart) -> str:
    """The format of an image, one that providers take."""
    if part.format not in IMAGE_FORMATS:
        raise item.refuse("image_format", "is in a format other than gif, jpeg, png and webp")
    if bool(part.bytes) == bool(part.uri):
        raise item.refuse("source", "needs exactly one of bytes and uri")
    return part.format


def web_uri(item: Placed, uri: str) -> str:
    """A URI that a provider can fetch over the web."""
    if not uri.startswith(("https://", "http://")):
        raise item.refuse("uri", "has a URI that is not one of the web")
    return uri


def refuse_context(item: Placed, part: DocumentPart) -> None:
    """Refuse a document with context or asked-for citations, where the provider has neither."""
    if part.context or part.cite:
        raise item.refuse("document_options", "has context or citations, which the provider does not know")
