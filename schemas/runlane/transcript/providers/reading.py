"""Reads what providers answer: SDK objects as plain mappings, unknown keys tolerated.

Whatever is missing or of another type is a `ProviderError` with the code `provider.malformed` that names the
place, and a kind of block that no part stands for one with `provider.unknown_block`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from runlane import strictjson
from runlane.strictjson import StrictJsonError
from runlane.transcript.errors import ProviderError
from runlane.transcript.parts import ToolUsePart


class Answer:
    """One object of a provider's answer and its place in it."""

    __slots__ = ("fields", "where")

    def __init__(self, value: object, where: str = "") -> None:
        if not isinstance(value, Mapping):
            raise malformed(where, "must be an object")
        self.fields = cast("Mapping[str, object]", value)
        self.where = where

    def place(self, name: str) -> str:
        """The place of a field."""
        return f"{self.where}.{name}" if self.where else name

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.fields.get(name) is not None

    def text(self, name: str) -> str:
        """A string that must be there."""
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise malformed(self.place(name), "must be a string")
        return value

    def text_or(self, name: str, default: str = "") -> str:
        """A string that may be absent or null."""
        return self.text(name) if self.has(name) else default

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer, which may be absent where there is a default."""
        value = self.fields.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise malformed(self.place(name), "must be an integer")
        return value

    def blob(self, name: str) -> bytes:
        """Bytes that must be there."""
        value = self.fields.get(name)
        if not isinstance(value, bytes):
            raise malformed(self.place(name), "must be bytes")
        return value

    def child(self, name: str) -> Answer:
        """An object that must be there."""
        return Answer(self.fields.get(name), self.place(name))

    def children(self, name: str) -> Iterator[Answer]:
        """The objects of a list, which may be absent or null."""
        value = self.fields.get(name)
        if value is None:
            return
        if not isinstance(value, list):
            raise malformed(self.place(name), "must be a list")
        for index, item in enumerate(cast("list[object]", value)):
            yield Answer(item, f"{self.place(name)}[{index}]")

    def unknown(self) -> ProviderError:
        """The error for a block that no part stands for."""
        return ProviderError("provider.unknown_block", "is of a kind that no part stands for", self.where)


def malformed(where: str, expected: str) -> ProviderError:
    """The error for an answer that is not what the API promises."""
    return ProviderError("provider.malformed", expected, where)


def tool_use(answer: Answer, tool_use_id: str, name: str, raw_input: object) -> ToolUsePart:
    """A tool use whose input came as an object or, piece by piece, as JSON text; none counts as `{}`.

    A model may write what is no JSON object: that is a `ProviderError` with the rule as its code.
    """
    if isinstance(raw_input, str):
        data = raw_input.encode(errors="surrogatepass") or b"{}"
    else:
        try:
            data = json.dumps(raw_input, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except (RecursionError, TypeError, ValueError):
            data = b""
    try:
        value = strictjson.loads(data, max_bytes=len(data))
    except StrictJsonError as error:
        raise ProviderError(error.rule, str(error), answer.where) from error
    if not isinstance(value, dict):
        raise malformed(answer.where, "must hold an object as the input of the tool")
    if not tool_use_id or not name:
        raise malformed(answer.where, "must have an id and a name")
    return ToolUsePart(tool_use_id, name, data)


def incomplete() -> ProviderError:
    """The error for a stream that is asked for its message before it ended."""
    return ProviderError("provider.incomplete", "the stream has not ended")


def out_of_order(where: str) -> ProviderError:
    """The error for a stream event that does not fit what came before."""
    return ProviderError("provider.out_of_order", "does not fit the events before it", where)
