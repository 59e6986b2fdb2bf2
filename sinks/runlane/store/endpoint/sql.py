"""As much SQL as a server's HTTP handler must see: which statement it is, where an INSERT's data begins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_SKIPPED: Final = re.compile(r"(?:\s+|--[^\n]*|#[! ][^\n]*|/\*.*?\*/|\()*", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_PIECE: Final = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|--[^\n]*|/\*.*?\*/"""
    r"""|[A-Za-z_][A-Za-z_0-9]*|[()]""",
    re.DOTALL,
)
_FORMAT: Final = re.compile(rb"\bFORMAT\s+([A-Za-z_]\w*)", re.IGNORECASE)
_BEHIND_FORMAT: Final = re.compile(rb"\s*((?:\bSETTINGS\b[^;]*)?);?\s*", re.IGNORECASE)
_BEFORE_DATA: Final = re.compile(r"[ \t\f]*(?:\r?\n)?")
_INLINE: Final = frozenset({"VALUES", "SELECT", "WITH", "FROM", "WATCH"})
_RESULTS: Final = frozenset(
    {"SELECT", "WITH", "FROM", "SHOW", "DESC", "DESCRIBE", "EXPLAIN", "EXISTS", "CHECK", "KILL"}
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as the engine takes it.

    ``word`` is its first keyword in capitals. An INSERT whose data follows has ``data`` and ``data_format``;
    ``settings`` is its SETTINGS clause, ``text`` what stands before. No other statement has any of these.
    """

    word: str
    text: bytes
    settings: bytes = b""
    data_format: str = ""
    data: bytes = b""

    @property
    def gives_rows(self) -> bool:
        """Whether the statement answers with a result, be it an empty one."""
        return self.word in _RESULTS


def first_word(text: str) -> str:
    """Return a statement's first keyword in capitals, comments and brackets skipped, or an empty string."""
    skipped = _SKIPPED.match(text)
    match = _WORD.match(text, skipped.end() if skipped else 0)
    return "" if match is None else match[0].upper()


def parse(raw: bytes) -> Statement:
    """Split a request's query and body, which follow each other, into a statement and its data."""
    # One character a byte: positions in the text are positions in the bytes, whatever data follows.
    text = raw.decode("latin-1")
    word = first_word(text)
    if word != "INSERT":
        return Statement(word, raw)
    depth, settings = 0, 0
    pieces = _PIECE.finditer(text)
    for piece in pieces:
        match piece[0].upper():
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case "SETTINGS" if depth == 0:
                settings = piece.start()
            case "FORMAT" if depth == 0:
                name = next(pieces, None)
                begun = None if name is None else _BEFORE_DATA.match(text, name.end())
                if name is None or begun is None:
                    break
                end = settings or piece.start()
                return Statement(word, raw[:end], raw[end : piece.start()], name[0], raw[begun.end() :])
            case inline if depth == 0 and inline in _INLINE:
                break
            case _:
                pass
    return Statement(word, raw)


def output_format(text: bytes, default: str) -> str:
    """Return the format that a statement asks for in its FORMAT clause, or ``default``."""
    found = _trailing_format(text)
    return default if found is None else found[0][1].decode("ascii", "replace")


def without_format(text: bytes) -> bytes:
    """Return a statement without its FORMAT clause; its settings stay."""
    found = _trailing_format(text)
    return text.rstrip().rstrip(b";") if found is None else text[: found[0].start()] + found[1]


def _trailing_format(text: bytes) -> tuple[re.Match[bytes], bytes] | None:
    """Return the last FORMAT and the SETTINGS clause behind it, None when more than that follows."""
    last: re.Match[bytes] | None = None
    for match in _FORMAT.finditer(text):
        last = match
    behind = None if last is None else _BEHIND_FORMAT.fullmatch(text, last.end())
    return None if last is None or behind is None else (last, behind[1])
