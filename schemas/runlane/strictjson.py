"""The strict JSON gate that every payload passes before it is stored.

Python's own parser takes more than JSON allows and drops what it can't represent. This gate refuses, in
this order (contract section 0): too many bytes, a byte order mark, bytes that are not UTF-8, nesting deeper
than 64, then text that is not exactly one JSON value, duplicate keys, NaN and infinities, numbers that
overflow to infinity, integers of more than 4,300 digits, and at last unpaired surrogates. Whitespace around
the value is fine. The bytes are never changed: whoever stores them keeps what came in.

    strictjson.check(b'{"a": 1}')                     # None, or StrictJsonError
    strictjson.loads(b'{"a": 1.50}')                  # {"a": 1.5}
    strictjson.loads_exact(b'[1.50]')[0].spelling     # "1.50"
"""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Final, NoReturn, Self, TypeAlias

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_INTEGER_DIGITS",
    "JsonValue",
    "SpelledNumber",
    "StrictJsonError",
    "check",
    "loads",
    "loads_exact",
]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
"""A decoded JSON value; integers are exact, whatever their size."""

MAX_BYTES: Final = 900 * 1024
"""Default size limit: what all payloads of one command may hold together (contract section 0)."""

MAX_DEPTH: Final = 64
"""Objects and lists inside one another, the outermost counted."""

MAX_INTEGER_DIGITS: Final = 4_300
"""Digits of one integer, its sign not counted."""

_MESSAGES: Final = {
    "json.byte_order_mark": "JSON text starts with a byte order mark",
    "json.duplicate_key": "a JSON object holds the same key twice",
    "json.integer_too_long": f"a JSON integer has more than {MAX_INTEGER_DIGITS} digits",
    "json.invalid_utf8": "JSON text is not valid UTF-8",
    "json.not_finite": "NaN and Infinity are not JSON",
    "json.number_overflow": "a JSON number is beyond the range of a double",
    "json.syntax": "not exactly one valid JSON value",
    "json.too_deep": f"JSON nested deeper than {MAX_DEPTH} levels",
    "json.too_large": "JSON text is larger than the size limit",
    "json.unpaired_surrogate": "a JSON string holds an unpaired surrogate",
}


class StrictJsonError(ValueError):
    """The bytes broke a rule of the gate.

    `rule` is a stable code (`json.duplicate_key`, `json.too_deep`, …). The message depends on the rule alone
    and never quotes the payload.
    """

    def __init__(self, rule: str) -> None:
        super().__init__(_MESSAGES[rule])
        self.rule: Final = rule

    def __reduce__(self) -> tuple[type[StrictJsonError], tuple[str]]:
        return type(self), (self.rule,)


class SpelledNumber(float):
    """A JSON number that is not a plain integer, with the digits it was written in.

    It is a float in every respect; `spelling` is what an encoder writes, so `1.50`, `1E+2` and `-0` survive.
    """

    __slots__ = ("spelling",)
    spelling: str

    def __new__(cls, spelling: str) -> Self:
        """Read a number in JSON's spelling; `StrictJsonError` where it overflows to infinity."""
        number = super().__new__(cls, spelling)
        if math.isinf(number):
            raise StrictJsonError("json.number_overflow")
        number.spelling = spelling
        return number

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # copies are made from the spelling
        return (self.spelling,)


def check(data: bytes, *, max_bytes: int = MAX_BYTES) -> None:
    """Refuse `data` with `StrictJsonError` unless it passes every rule of the gate."""
    loads(data, max_bytes=max_bytes)


def loads(data: bytes, *, max_bytes: int = MAX_BYTES) -> JsonValue:
    """Decode `data`; numbers become int or float.

    Raises `StrictJsonError` unless it passes every rule of the gate.
    """
    text = _text(data, max_bytes)
    return _decode(_PLAIN if len(text) <= MAX_INTEGER_DIGITS else _PLAIN_LONG, text)


def loads_exact(data: bytes, *, max_bytes: int = MAX_BYTES) -> JsonValue:
    """Decode like `loads`, each number that is not a plain integer as a `SpelledNumber`."""
    return _decode(_EXACT, _text(data, max_bytes))


def _text(data: bytes, max_bytes: int) -> str:
    """Apply the rules that need no parser: size, encoding, depth, surrogates."""
    if len(data) > max_bytes:
        raise StrictJsonError("json.too_large")
    if data.startswith(b"\xef\xbb\xbf"):
        raise StrictJsonError("json.byte_order_mark")
    if b"\0" in data[:4]:  # UTF-16 and UTF-32 of any JSON text show a NUL here, and JSON itself has none
        raise StrictJsonError("json.invalid_utf8")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = None
    if text is None:  # raised here, so that the payload does not hang on the error as its context
        raise StrictJsonError("json.invalid_utf8")
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and _is_too_deep(data):
        raise StrictJsonError("json.too_deep")
    return text


_UNSTRUCTURAL: Final = bytes(set(range(256)) - set(b'"[]{}'))
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def _is_too_deep(data: bytes) -> bool:
    """Count the levels over the brackets outside strings, without recursion.

    Malformed text may be judged either way; the parser refuses it in any case.
    """
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
    quoted = unescaped.translate(None, _UNSTRUCTURAL)
    # Without its escapes every quote opens or closes a string, so every second piece lies outside.
    brackets = b"".join(quoted.replace(b'""', b"").split(b'"')[::2])
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH


_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<unpaired>u[dD][89a-fA-F])|.)",
    re.DOTALL,
)


def _has_unpaired_surrogate(text: str) -> bool:
    """Look at each escape in turn; valid UTF-8 holds no surrogate but an escaped one."""
    return any(escape["unpaired"] for escape in _ESCAPE.finditer(text))


def _decode(decoder: json.JSONDecoder, text: str) -> JsonValue:
    rule = ""
    value: JsonValue = None
    try:
        value = decoder.decode(text)
    except StrictJsonError:
        raise
    except json.JSONDecodeError:
        rule = "json.syntax"
    except ValueError:  # an interpreter may be started with a lower limit on digits than ours
        rule = "json.integer_too_long"
    if rule:  # raised here, so that the payload does not hang on the error as its context
        raise StrictJsonError(rule)
    if ("\\ud" in text or "\\uD" in text) and _has_unpaired_surrogate(text):
        raise StrictJsonError("json.unpaired_surrogate")
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise StrictJsonError("json.duplicate_key")
    return value


def _finite(spelling: str) -> float:
    number = float(spelling)
    if math.isinf(number):
        raise StrictJsonError("json.number_overflow")
    return number


def _bounded_integer(spelling: str) -> int:
    if len(spelling) > MAX_INTEGER_DIGITS and len(spelling.lstrip("-")) > MAX_INTEGER_DIGITS:
        raise StrictJsonError("json.integer_too_long")
    return int(spelling)


def _exact_integer(spelling: str) -> int | SpelledNumber:
    return SpelledNumber(spelling) if spelling == "-0" else _bounded_integer(spelling)


def _constant(_spelling: str) -> NoReturn:
    raise StrictJsonError("json.not_finite")


_PLAIN: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_constant)
_PLAIN_LONG: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_finite, parse_int=_bounded_integer, parse_constant=_constant
)
_EXACT: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=SpelledNumber,
    parse_int=_exact_integer,
    parse_constant=_constant,
)
