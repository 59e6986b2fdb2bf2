"""As much SQL as a server's HTTP handler must see: which statement it is, where an INSERT's data begins, the format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_SPACE: Final = re.compile(r"(?:\s+|--[^\n]*|#[! ][^\n]*|/\*.*?\*/|\()*", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_PIECE: Final = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|--[^\n]*|/\*.*?\*/|[A-Za-z_][A-Za-z_0-9]*|[()]""",
    re.DOTALL,
)
_TRAILING_FORMAT: Final = re.compile(
    r"\bFORMAT\s+([A-Za-z_]\w*)\s*(?:\bSETTINGS\b[^;]*)?;?\s*$", re.IGNORECASE | re.ASCII
)
_DATA_START: Final = re.compile(r"[ \t\f]*(?:\r?\n)?")
_RESULTS: Final = frozenset(
    {"SELECT", "WITH", "FROM", "SHOW", "DESC", "DESCRIBE", "EXPLAIN", "EXISTS", "CHECK", "KILL", "OPTIMIZE"}
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as the engine takes it.

    ``word`` is its first keyword in capitals. An INSERT whose data follows it has ``data`` and ``data_format``, and
    ``text`` ends before its FORMAT clause; every other statement has neither.
    """

    word: str
    text: bytes
    data_format: str = ""
    data: bytes = b""

    @property
    def gives_rows(self) -> bool:
        """Whether the statement answers with a result, be it an empty one."""
        return self.word in _RESULTS


def first_word(text: str) -> str:
    """Return the first keyword of a statement in capitals, comments and brackets skipped, or an empty string."""
    match = _WORD.match(text, _SPACE.match(text).end())  # type: ignore[union-attr]  # it matches the empty string
    return "" if match is None else match[0].upper()


def parse(raw: bytes) -> Statement:
    """Split a request's query and body, which follow each other, into a statement and its data."""
    # One character a byte: positions in the text are positions in the bytes, whatever data follows.
    text = raw.decode("latin-1")
    word = first_word(text)
    if word != "INSERT":
        return Statement(word, raw)
    depth = 0
    pieces = _PIECE.finditer(text)
    for piece in pieces:
        token = piece[0].upper()
        if token in ("(", ")"):
            depth += 1 if token == "(" else -1
        elif depth == 0 and token in ("VALUES", "SELECT", "WITH", "FROM", "WATCH"):
            break
        elif depth == 0 and token == "FORMAT":
            name = next(pieces, None)
            if name is None:
                break
            start = _DATA_START.match(text, name.end())
            assert start is not None, "the pattern matches the empty string"
            return Statement(word, raw[: piece.start()].rstrip(), name[0], raw[start.end() :])
    return Statement(word, raw)


def output_format(text: str, default: str) -> str:
    """Return the format that a statement asks for in its FORMAT clause, or ``default``."""
    match = _TRAILING_FORMAT.search(text)
    return default if match is None else match[1]
