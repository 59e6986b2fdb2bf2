"""The pieces of a JSON object or list as the bytes they are spelled in.

An envelope holds payloads that may be nested as deep as the gate allows, so the envelope itself is too deep
for the gate. Here it is cut into pieces, which its reader gives to the gate one by one.
"""

from __future__ import annotations

import json
import re
from typing import Final

from runlane.strictjson import StrictJsonError

_skip: Final = json.JSONDecoder().raw_decode
_blank: Final = re.compile(r"[ \t\n\r]*")


def members(data: bytes) -> dict[str, bytes]:
    """Return the members of an object by key; ``StrictJsonError`` for text that is none or has a key twice.

    What is inside the members is not judged.
    """
    text = _decoded(data)
    found: dict[str, bytes] = {}
    at = _opened(text, "{")
    while text[at] != "}":
        key, end = _value(text, at)
        at = _past(text, end, ":")
        if not isinstance(key, str):
            raise StrictJsonError("json.syntax")
        if key in found:
            raise StrictJsonError("json.duplicate_key")
        _, end = _value(text, at)
        found[key] = text[at:end].encode()
        at = _next(text, end, "}")
    _closed(text, at)
    return found


def items(data: bytes) -> list[bytes]:
    """Return the items of a list; ``StrictJsonError`` for text that is none. What is inside is not judged."""
    text = _decoded(data)
    found: list[bytes] = []
    at = _opened(text, "[")
    while text[at] != "]":
        _, end = _value(text, at)
        found.append(text[at:end].encode())
        at = _next(text, end, "]")
    _closed(text, at)
    return found


def _decoded(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = None
    if text is None:  # raised here, so that the text does not hang on the error as its context
        raise StrictJsonError("json.invalid_utf8")
    return text + "\0"  # no JSON goes on with it, so that looking at the next character never fails


def _value(text: str, at: int) -> tuple[object, int]:
    rule = ""
    try:
        return _skip(text, at)
    except RecursionError:
        rule = "json.too_deep"
    except ValueError:
        rule = "json.syntax"
    raise StrictJsonError(rule)


def _opened(text: str, bracket: str) -> int:
    return _past(text, 0, bracket)


def _next(text: str, at: int, closing: str) -> int:
    """Return where the next piece begins, or the closing bracket stands."""
    at = _after_blank(text, at)
    if text[at] == closing:
        return at
    at = _past(text, at, ",")
    if text[at] == closing:
        raise StrictJsonError("json.syntax")
    return at


def _past(text: str, at: int, mark: str) -> int:
    at = _after_blank(text, at)
    if text[at] != mark:
        raise StrictJsonError("json.syntax")
    return _after_blank(text, at + 1)


def _closed(text: str, at: int) -> None:
    if _after_blank(text, at + 1) != len(text) - 1:
        raise StrictJsonError("json.syntax")


def _after_blank(text: str, at: int) -> int:
    found = _blank.match(text, at)
    assert found is not None, "no blank matches too"
    return found.end()
