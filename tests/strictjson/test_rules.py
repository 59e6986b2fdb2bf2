"""The strict JSON gate, rule by rule (contract section 0)."""

from __future__ import annotations

import codecs
import copy
import pickle
import sys
import tracemalloc

import pytest

from runlane import strictjson
from runlane.strictjson import SpelledNumber, StrictJsonError

REFUSED = {
    "duplicate key": (b'{"a":1,"a":1}', "json.duplicate_key"),
    "duplicate key, spelled with an escape": (b'{"a":1,"\\u0061":2}', "json.duplicate_key"),
    "duplicate key, nested": (b'[{"x":{"a":1,"b":2,"a":3}}]', "json.duplicate_key"),
    "duplicate empty key": (b'{"":1,"":2}', "json.duplicate_key"),
    "NaN": (b'{"a":NaN}', "json.not_finite"),
    "Infinity": (b"Infinity", "json.not_finite"),
    "-Infinity": (b"[-Infinity]", "json.not_finite"),
    "1e400": (b"[1e400]", "json.number_overflow"),
    "-1e400": (b"[-1E+400]", "json.number_overflow"),
    "overflow without an exponent": (b"1" + b"0" * 400 + b".5", "json.number_overflow"),
    "5,000-digit integer": (b"9" * 5_000, "json.integer_too_long"),
    "4,301-digit integer": (b"[-" + b"9" * 4_301 + b"]", "json.integer_too_long"),
    "unpaired high surrogate": (b'"\\ud800"', "json.unpaired_surrogate"),
    "unpaired low surrogate": (b'["a","\\uDC00x"]', "json.unpaired_surrogate"),
    "high surrogate before another escape": (b'"\\ud83d\\u0041"', "json.unpaired_surrogate"),
    "surrogates in the wrong order": (b'"\\ude42\\ud83d"', "json.unpaired_surrogate"),
    "unpaired surrogate in a key": (b'{"\\udfff":1}', "json.unpaired_surrogate"),
    "UTF-8 byte order mark": (b'\xef\xbb\xbf{"a":1}', "json.byte_order_mark"),
    "UTF-16 with byte order mark": ('{"a":1}'.encode("utf-16"), "json.invalid_utf8"),
    "UTF-16-LE": ('{"a":1}'.encode("utf-16-le"), "json.invalid_utf8"),
    "UTF-16-BE": ('{"a":1}'.encode("utf-16-be"), "json.invalid_utf8"),
    "UTF-32-LE": ('{"a":1}'.encode("utf-32-le"), "json.invalid_utf8"),
    "one-digit UTF-16": (b"1\0", "json.invalid_utf8"),
    "bad byte": (b'"a\xffb"', "json.invalid_utf8"),
    "lone continuation byte": (b'"\x80"', "json.invalid_utf8"),
    "truncated sequence": (b'"\xe2\x82"', "json.invalid_utf8"),
    "overlong sequence": (b'"\xc0\xaf"', "json.invalid_utf8"),
    "encoded surrogate": (b'"\xed\xa0\x80"', "json.invalid_utf8"),
    "above U+10FFFF": (b'"\xf4\x90\x80\x80"', "json.invalid_utf8"),
    "65 lists": (b"[" * 65 + b"]" * 65, "json.too_deep"),
    "65 objects": (b'{"a":' * 64 + b"{}" + b"}" * 64, "json.too_deep"),
    "deep after many shallow ones": (b"[" + b"[]," * 500 + b"[" * 64 + b"]" * 65, "json.too_deep"),
    "depth 5,000": (b"[" * 5_000 + b"]" * 5_000, "json.too_deep"),
    "depth 5,000, never closed": (b'{"a":[' * 5_000, "json.too_deep"),
    "empty text": (b"", "json.syntax"),
    "blank text": (b" \n", "json.syntax"),
    "two values": (b"{} {}", "json.syntax"),
    "trailing text": (b"[1] x", "json.syntax"),
    "trailing comma": (b"[1,]", "json.syntax"),
    "single quotes": (b"{'a':1}", "json.syntax"),
    "bare dot": (b"[.5]", "json.syntax"),
    "dot without digits": (b"1.", "json.syntax"),
    "leading zero": (b"01", "json.syntax"),
    "plus sign": (b"+1", "json.syntax"),
    "raw control character": (b'"a\nb"', "json.syntax"),
    "raw NUL": (b'"abcd\0"', "json.syntax"),
    "unknown escape": (b'"\\x"', "json.syntax"),
    "escape without digits": (b'"\\u12"', "json.syntax"),
    "no-break space as whitespace": ("[1,\u00a02]".encode(), "json.syntax"),
    "form feed as whitespace": (b"[1,\f2]", "json.syntax"),
    "foreign digits": ("[\u0661]".encode(), "json.syntax"),
    "literal in wrong case": (b"True", "json.syntax"),
    "unterminated string": (b'["a', "json.syntax"),
}

ACCEPTED: dict[str, tuple[bytes, object]] = {
    "trailing whitespace": (b"[1] \t\r\n", [1]),
    "leading whitespace": (b" \t\r\n[1]", [1]),
    "scalar": (b"null", None),
    "2^64": (b"[18446744073709551616]", [2**64]),
    "2^70 negative": (b"[-1180591620717411303424]", [-(2**70)]),
    "largest double": (b"1.7976931348623157e308", 1.7976931348623157e308),
    "underflow": (b"1e-400", 0.0),
    "minus zero": (b"-0", 0),
    "NUL escape": (b'"\\u0000"', "\0"),
    "surrogate pair": (b'"\\ud83d\\ude42"', "\U0001f642"),
    "surrogate pair in upper case": (b'"\\uD83D\\uDE42"', "\U0001f642"),
    "escaped backslash before ud800": (b'"\\\\ud800"', "\\ud800"),
    "key in two normal forms": ('{"\u00e9":1,"e\u0301":2}'.encode(), {"\u00e9": 1, "e\u0301": 2}),
    "the same key at two levels": (b'{"a":{"a":1}}', {"a": {"a": 1}}),
    "brackets inside strings": (b'["' + b"[{" * 500 + b'"]', ["[{" * 500]),
    "brackets behind an escaped quote": (b'["\\"' + b"[" * 500 + b'\\\\"]', ['"' + "[" * 500 + "\\"]),
    "4,301 digits in a string": (b'"' + b"1" * 4_301 + b'"', "1" * 4_301),
    "a lone surrogate's text outside an escape": (b'"ud800"', "ud800"),
    "many shallow lists": (b"[" + b"[]," * 500 + b"[]]", [[]] * 501),
    "noncharacter": (b'"\xef\xbf\xbf"', "\uffff"),
    "byte order mark inside a string": (b'"\xef\xbb\xbf"', "\ufeff"),
}


@pytest.mark.parametrize(("data", "rule"), REFUSED.values(), ids=REFUSED)
def test_refuses(data: bytes, rule: str) -> None:
    for gate in (strictjson.check, strictjson.loads, strictjson.loads_exact):
        with pytest.raises(StrictJsonError) as refusal:
            gate(data)
        assert refusal.value.rule == rule


@pytest.mark.parametrize(("data", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(data: bytes, value: object) -> None:
    strictjson.check(data)
    assert strictjson.loads(data) == value
    assert strictjson.loads_exact(data) == value


def test_an_integer_of_4300_digits_stays_exact() -> None:
    digits = "7" * 4_300
    assert strictjson.loads(b"[-" + digits.encode() + b"]") == [-int(digits)]
    assert strictjson.loads_exact(digits.encode()) == int(digits)


def test_an_interpreter_with_a_lower_limit_on_digits_is_no_crash() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        for gate in (strictjson.loads, strictjson.loads_exact):
            with pytest.raises(StrictJsonError) as refusal:
                gate(b"1" * 641)
            assert refusal.value.rule == "json.integer_too_long"
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_sixty_four_levels_pass(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    strictjson.check(opening * 63 + b"[]" + closing * 63)
    with pytest.raises(StrictJsonError, match="64 levels"):
        strictjson.check(opening * 64 + b"[]" + closing * 64)


def test_the_size_limit_counts_bytes_and_is_inclusive() -> None:
    data = '"\u00e9"'.encode()
    strictjson.check(data, max_bytes=4)
    with pytest.raises(StrictJsonError) as refusal:
        strictjson.check(data, max_bytes=3)
    assert refusal.value.rule == "json.too_large"


def test_size_comes_first_and_costs_no_memory() -> None:
    data = codecs.BOM_UTF8 + b"[" * 60_000_000
    tracemalloc.start()
    try:
        with pytest.raises(StrictJsonError) as refusal:
            strictjson.check(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refusal.value.rule == "json.too_large"
    assert peak < 1_000_000


def test_a_60_mb_string_within_the_limit_takes_twice_its_memory() -> None:
    data = b'["' + b"A" * 60_000_000 + b'"]'
    tracemalloc.start()
    try:
        strictjson.check(data, max_bytes=len(data))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 2 * len(data) + 100_000


@pytest.mark.parametrize(("data", "rule"), REFUSED.values(), ids=REFUSED)
def test_an_error_holds_nothing_of_the_payload(data: bytes, rule: str) -> None:
    with pytest.raises(StrictJsonError) as refusal:
        strictjson.check(data)
    error = refusal.value
    with pytest.raises(StrictJsonError) as other:
        strictjson.check(REFUSED[next(name for name, (_, r) in REFUSED.items() if r == rule)][0])
    assert str(error) == str(other.value)
    assert error.__context__ is None
    assert error.__cause__ is None


def test_an_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(StrictJsonError("json.too_deep")))
    assert isinstance(error, StrictJsonError)
    assert error.rule == "json.too_deep"


def test_an_exact_number_keeps_its_spelling() -> None:
    spellings = ["1.50", "1E+2", "1e2", "-0", "-0.0", "0.1000000000000000055511151231257827"]
    numbers = strictjson.loads_exact(("[" + ",".join(spellings) + "]").encode())
    assert isinstance(numbers, list)
    assert [n.spelling for n in numbers if isinstance(n, SpelledNumber)] == spellings
    assert numbers == [1.5, 100.0, 100.0, 0.0, 0.0, 0.1]


def test_an_exact_number_is_copied_with_its_spelling() -> None:
    number = SpelledNumber("1.50")
    for twin in (copy.copy(number), copy.deepcopy(number), pickle.loads(pickle.dumps(number))):
        assert isinstance(twin, SpelledNumber)
        assert twin.spelling == "1.50"
        assert twin == 1.5


def test_plain_integers_stay_integers_in_an_exact_decode() -> None:
    numbers = strictjson.loads_exact(b"[0,7,18446744073709551616]")
    assert isinstance(numbers, list)
    assert [type(number) for number in numbers] == [int, int, int]
