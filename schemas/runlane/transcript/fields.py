"""Typed fields of decoded JSON objects.

Absent and null read as empty; a value of another type is a `MessageError`.
"""

from __future__ import annotations

import binascii
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

from runlane.strictjson import JsonValue, SpelledNumber
from runlane.transcript.errors import MessageError, missing, wrong_type

Fields: TypeAlias = dict[str, JsonValue]

_INT64: Final = 2**63


def only(fields: Fields, known: AbstractSet[str]) -> None:
    """Refuse a field that the object does not have; letter case counts."""
    if not fields.keys() <= known:
        raise MessageError("transcript.unknown_field", "holds a field that it does not have")


def text(fields: Fields, name: str) -> str:
    """A string."""
    value = fields.get(name)
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    raise wrong_type(name, "a string")


def required_text(fields: Fields, name: str) -> str:
    """A string that is not empty."""
    value = text(fields, name)
    if not value:
        raise missing(name)
    return value


def flag(fields: Fields, name: str) -> bool:
    """True or false; false where absent."""
    value = fields.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise wrong_type(name, "true or false")
    return value


def integer(fields: Fields, name: str) -> int:
    """A 64-bit integer. `-0` is one, `1.0` and `1e2` are not (contract 6.2)."""
    value = fields.get(name)
    if value is None:
        return 0
    if isinstance(value, SpelledNumber) and value.spelling == "-0":
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(name, "an integer")
    if not -_INT64 <= value < _INT64:
        raise MessageError("transcript.integer_range", "must fit into 64 bits", name)
    return value


def blob(fields: Fields, name: str) -> bytes | None:
    """Bytes in strict standard base64: padded, no line breaks, no stray bits."""
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise wrong_type(name, "a base64 string")
    try:
        data = binascii.a2b_base64(value, strict_mode=True)
    except ValueError:
        data = None
    if data is None or not _ends_cleanly(value, data):
        raise MessageError("transcript.invalid_base64", "must be standard base64 with padding", name)
    return data


def _ends_cleanly(encoded: str, data: bytes) -> bool:
    """Whether the bits that padding leaves over are zero, and no padding stands alone."""
    tail = data[len(data) - len(data) % 3 :]
    return len(encoded) == (len(data) + 2) // 3 * 4 and (
        not tail or encoded.endswith(binascii.b2a_base64(tail, newline=False).decode())
    )


def texts(fields: Fields, name: str) -> tuple[str, ...] | None:
    """A list of strings, none of them null."""
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, list):
        raise wrong_type(name, "a list of strings")
    items: list[str] = []
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise wrong_type(f"{name}[{index}]", "a string")
        items.append(item)
    return tuple(items)
