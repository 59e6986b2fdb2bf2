"""Parsing a hook payload while its raw members keep their bytes (contract 1.10)."""

from __future__ import annotations

import json
import re
from typing import Final

from runlane import strictjson

RAW_KEYS: Final = frozenset(
    {"Payload", "ExampleJSON", "result_json", "server_data", "prior_input", "example_json"}
)
"""Members whose value is free JSON that keeps its spelling."""
FREE_KEYS: Final = frozenset({"Structured", "Metadata", "Extra"})
"""Members whose value is free JSON that is decoded; raw keys inside mean nothing."""

_skip: Final = json.JSONDecoder().raw_decode
_blank: Final = re.compile(r"[ \t\n\r]*").match


def parse(payload: bytes) -> object:
    """Return the payload as Python values, each raw member as the bytes it was spelled in.

    Raises ``StrictJsonError`` for what the gate refuses.
    """
    strictjson.check(payload)
    value, _ = _value(payload.decode(), 0)
    return value


def _value(text: str, at: int) -> tuple[object, int]:
    at = _after_blank(text, at)
    if text[at] == "{":
        return _object(text, at)
    if text[at] == "[":
        return _list(text, at)
    _, end = _skip(text, at)
    return strictjson.loads_exact(text[at:end].encode()), end


def _object(text: str, at: int) -> tuple[dict[str, object], int]:
    members: dict[str, object] = {}
    at = _after_blank(text, at + 1)
    while text[at] != "}":
        key, end = _skip(text, at)
        start = _after_blank(text, _after_blank(text, end) + 1)
        if key in RAW_KEYS:
            _, at = _skip(text, start)
            members[key] = text[start:at].encode()
        elif key in FREE_KEYS:
            _, at = _skip(text, start)
            members[key] = strictjson.loads_exact(text[start:at].encode())
        else:
            members[key], at = _value(text, start)
        at = _after_comma(text, at)
    return members, at + 1


def _list(text: str, at: int) -> tuple[list[object], int]:
    items: list[object] = []
    at = _after_blank(text, at + 1)
    while text[at] != "]":
        item, at = _value(text, at)
        items.append(item)
        at = _after_comma(text, at)
    return items, at + 1


def _after_comma(text: str, at: int) -> int:
    at = _after_blank(text, at)
    return _after_blank(text, at + 1) if text[at] == "," else at


def _after_blank(text: str, at: int) -> int:
    found = _blank(text, at)
    return found.end() if found else at
