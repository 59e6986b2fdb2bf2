"""Reading server-sent events: bytes in, events out (the format of a browser's ``EventSource``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event; ``id`` is None when it has none of its own."""

    name: str
    data: str
    id: str | None = None


class EventParser:
    """Turns the pieces of an answer into events: ``for event in parser.feed(piece): ...``.

    Pieces may be cut anywhere. Comments and unknown fields are dropped, as is an event that the end of the
    answer cut off.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._id: str | None = None
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Yield the events that ``piece`` completes."""
        # The gateway ends lines with "\n" alone; a "\r" inside of JSON is escaped.
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            text = line.removesuffix(b"\r").decode("utf-8", "replace")
            if text:
                self._field(text)
            elif self._data:
                yield ServerEvent(self._name or "message", "\n".join(self._data), self._id)
                self._clear()
            else:
                self._clear()

    def _field(self, text: str) -> None:
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id":
            self._id = value

    def _clear(self) -> None:
        self._name, self._id, self._data = "", None, []
