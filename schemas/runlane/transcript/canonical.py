"""Canonical JSON text of free values and of single pieces (contract 6.1).

The five characters `<` `>` `&` U+2028 U+2029 are left raw here: `escape_five` treats a whole text at once,
since in JSON text they occur in strings only.
"""

from __future__ import annotations

import json.encoder
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from runlane.strictjson import MAX_DEPTH, MAX_INTEGER_DIGITS, JsonValue, SpelledNumber
from runlane.transcript.errors import MessageError, wrong_type

_INTEGER_LIMIT: Final = 10**MAX_INTEGER_DIGITS
_PLAIN_FROM: Final = 1e-6
_PLAIN_BELOW: Final = 1e21
_quote: Final = json.encoder.encode_basestring
_FIVE: Final = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def escape_five(text: str) -> str:
    """Escape the five characters in finished JSON text; escapes that are there already stay as spelled."""
    for character, escape in _FIVE.items():
        if character in text:
            text = text.replace(character, escape)
    return text


def string_text(value: str, where: str) -> str:
    """One JSON string, quotes included."""
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # values are built unchecked
        raise wrong_type(where, "a string")
    return _quote(value)


def value_text(value: JsonValue, where: str) -> str:
    """Free JSON: keys sorted by their UTF-8 bytes, no whitespace, spelled numbers as spelled.

    Raises `MessageError` for what is not JSON, NaN and infinities, and nesting beyond the gate's limit.
    """
    return _write(value, where, 0)


def _write(value: JsonValue, where: str, depth: int) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer_text(value, where)
    if isinstance(value, float):
        return _float_text(value, where)
    if depth >= MAX_DEPTH:
        raise MessageError("json.too_deep", f"nested deeper than {MAX_DEPTH} levels", where)
    if isinstance(value, list | tuple):
        return "[" + ",".join([_write(item, where, depth + 1) for item in value]) + "]"
    if isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # values are built unchecked
        return _object_text(value, where, depth)
    raise wrong_type(where, "a JSON value")


def _object_text(value: Mapping[str, JsonValue], where: str, depth: int) -> str:
    if not all(isinstance(key, str) for key in value):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise wrong_type(where, "a JSON value with strings for keys")
    # Code points sort like their UTF-8 bytes.
    members = [_quote(key) + ":" + _write(value[key], where, depth + 1) for key in sorted(value)]
    return "{" + ",".join(members) + "}"


def _integer_text(value: int, where: str) -> str:
    if not -_INTEGER_LIMIT < value < _INTEGER_LIMIT:  # converting a huge one would take for ever
        raise MessageError("json.integer_too_long", f"has more than {MAX_INTEGER_DIGITS} digits", where)
    return int.__repr__(value)


def _float_text(value: float, where: str) -> str:
    """A spelled number as spelled; a native float plain for 1e-6 <= |x| < 1e21, else with an exponent."""
    if isinstance(value, SpelledNumber):
        return value.spelling
    if not math.isfinite(value):
        raise MessageError("json.not_finite", "NaN and Infinity are not JSON", where)
    spelled = float.__repr__(value)
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return format(Decimal(spelled), "f").removesuffix(".0")
    mantissa, _, exponent = spelled.partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"


_BLANKS: Final = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\n\r]+')


def compact(text: str) -> str:
    """Drop the insignificant whitespace of valid JSON text and nothing else."""
    if " " in text or "\n" in text or "\t" in text or "\r" in text:
        return _BLANKS.sub(r"\1", text)
    return text
