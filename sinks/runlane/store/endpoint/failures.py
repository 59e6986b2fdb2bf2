"""Failures in the words of ClickHouse: a code, its name, and the HTTP status that goes with it."""

from __future__ import annotations

import re
from typing import Final

SYNTAX_ERROR: Final = 62
READONLY: Final = 164
UNKNOWN_FORMAT: Final = 73
TOO_MANY_SIMULTANEOUS_QUERIES: Final = 202
ABORTED: Final = 236
REQUIRED_PASSWORD: Final = 194
AUTHENTICATION_FAILED: Final = 516
NOT_IMPLEMENTED: Final = 48
INCORRECT_DATA: Final = 117
STD_EXCEPTION: Final = 1001

_CODE: Final = re.compile(r"Code: (\d+)\. DB::Exception: ", re.ASCII)
_VERSION: Final = re.compile(r" \(version [^()]*(?:\([^()]*\))?\)")
_STATUS: Final[dict[int, int]] = {
    **dict.fromkeys((194,), 401),
    **dict.fromkeys((192, 193, 512, 516), 403),
    **dict.fromkeys((6, 8, 15, 25, 26, 27, 36, 38, 41, 44, 53, 62, 72), 400),
    **dict.fromkeys((117, 167, 168, 223, 321, 376, 427), 400),
    **dict.fromkeys((46, 47, 50, 56, 60, 63, 73, 78, 81, 93, 115, 336, 511), 404),
    159: 408,
    381: 411,
    225: 413,
    48: 501,
    **dict.fromkeys((76, 209, 439), 503),
}


class QueryFailed(Exception):
    """A query that is answered with an error; ``text`` is the body, as a ClickHouse server words it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text

    @property
    def status(self) -> int:
        """The HTTP status that goes with the code; 500 for the many that have none of their own."""
        return _STATUS.get(self.code, 500)


def refusal(code: int, name: str, message: str) -> QueryFailed:
    """Return a failure of the endpoint's own, in ClickHouse's shape."""
    return QueryFailed(code, f"Code: {code}. DB::Exception: {message} ({name})")


def from_engine(message: str, version: str) -> QueryFailed:
    """Return the failure that an engine's message describes, its nested prefixes folded into one."""
    found = list(_CODE.finditer(message))
    if not found:
        return refusal(STD_EXCEPTION, "STD_EXCEPTION", message.strip())
    first = found[0]
    code = int(first[1])
    start = first.end()
    for again in found[1:]:
        if again.start() != start or again[1] != first[1]:
            break
        start = again.end()
    body = _VERSION.sub("", message[start:]).strip()
    name = re.search(r"\(([A-Z][A-Z0-9_]+)\)$", body)
    while name is not None and body[: name.start()].rstrip().endswith(name[0]):
        body = body[: name.start()].rstrip()
    return QueryFailed(code, f"Code: {code}. DB::Exception: {body} (version {version})")
