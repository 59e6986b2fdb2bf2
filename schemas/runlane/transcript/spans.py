"""Where the inputs of tool uses lie in the text of messages, so that they are kept as they were spelled.

The text has passed the JSON gate and its structure has been checked, so these walks meet no malformed text.
They descend only along message, `parts` and part; every other value is skipped by the C scanner.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

_skip: Final = json.JSONDecoder().raw_decode
_blank: Final = re.compile(r"[ \t\n\r]*").match


def inputs_of_messages(data: bytes) -> Iterator[bytes]:
    """The bytes of each tool use's input, in order, of a JSON list of messages (null elements allowed).

    Nothing is read before the first one is asked for, so messages without tools cost nothing.
    """
    for message in _Cursor(data.decode(), 0).elements():
        yield from _of_message(message)


def inputs_of_message(data: bytes) -> Iterator[bytes]:
    """The bytes of each tool use's input, in order, of one JSON message."""
    yield from _of_message(_Cursor(data.decode(), 0))


class _Cursor:
    """A position in JSON text that is known to be valid; an iteration leaves it behind what it passed."""

    __slots__ = ("at", "text")

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = _after_blank(text, at)

    def is_open(self, bracket: str) -> bool:
        return self.text[self.at] == bracket

    def skip(self) -> None:
        """Pass the value here."""
        _, self.at = _skip(self.text, self.at)

    def elements(self) -> Iterator[_Cursor]:
        """Stand before each element of the list here; the caller passes it."""
        yield from self._items("]")

    def members(self) -> Iterator[str]:
        """Stand before each value of the object here, giving its key; the caller passes the value."""
        for cursor in self._items("}"):
            key, end = _skip(self.text, cursor.at)
            self.at = _after_blank(self.text, _after_blank(self.text, end) + 1)
            yield key

    def _items(self, closing: str) -> Iterator[_Cursor]:
        text = self.text
        self.at = _after_blank(text, self.at + 1)
        while text[self.at] != closing:
            yield self
            self.at = _after_blank(text, self.at)
            if text[self.at] == ",":
                self.at = _after_blank(text, self.at + 1)
        self.at += 1


def _after_blank(text: str, at: int) -> int:
    found = _blank(text, at)
    return found.end() if found else at


def _of_message(cursor: _Cursor) -> Iterator[bytes]:
    if not cursor.is_open("{"):
        cursor.skip()
        return
    for key in cursor.members():
        if key == "parts" and cursor.is_open("["):
            for part in cursor.elements():
                yield from _of_part(part)
        else:
            cursor.skip()


def _of_part(cursor: _Cursor) -> Iterator[bytes]:
    # Only a tool use has a field named `input`: the other kinds were refused with it.
    for key in cursor.members():
        start = cursor.at
        cursor.skip()
        if key == "input":
            yield cursor.text[start : cursor.at].encode()
