"""Properties of the strict JSON gate over generated values."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane import strictjson
from runlane.strictjson import MAX_DEPTH, StrictJsonError

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=30)


@given(value=VALUES, ascii_only=st.booleans(), indent=st.none() | st.integers(0, 3))
def test_what_python_writes_passes_and_equals(value: object, ascii_only: bool, indent: int | None) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    strictjson.check(data)
    assert strictjson.loads(data) == value
    assert strictjson.loads_exact(data) == value


@given(value=VALUES, cut=st.integers(1, 1000))
def test_a_proper_prefix_of_an_object_is_refused(value: object, cut: int) -> None:
    data = json.dumps({"k": value}, ensure_ascii=False).encode()
    with pytest.raises(StrictJsonError):
        strictjson.check(data[: -min(cut, len(data))])


@given(data=st.binary(max_size=60))
def test_arbitrary_bytes_raise_nothing_but_the_gate_s_error(data: bytes) -> None:
    with contextlib.suppress(StrictJsonError):
        assert strictjson.loads(data) == json.loads(data)


def _nest(kinds: list[bool], leaf: object) -> object:
    for is_list in kinds:
        leaf = [leaf, "]}", '"['] if is_list else {'{"': leaf, "x": [], "\\": {}}
    return leaf


@given(kinds=st.lists(st.booleans(), min_size=MAX_DEPTH - 6, max_size=MAX_DEPTH + 6))
def test_depth_is_counted_exactly_among_quotes_and_siblings(kinds: list[bool]) -> None:
    data = json.dumps(_nest(kinds, 1)).encode()
    depth = len(kinds) + (not kinds[0])  # an innermost object holds empty siblings one level below itself
    if depth > MAX_DEPTH:
        with pytest.raises(StrictJsonError) as refusal:
            strictjson.check(data)
        assert refusal.value.rule == "json.too_deep"
    else:
        strictjson.check(data)


@given(units=st.lists(st.sampled_from([0x41, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0x5C]), max_size=6))
def test_surrogates_pass_exactly_when_they_pair_up(units: list[int]) -> None:
    data = ('"' + "".join(f"\\u{unit:04x}" for unit in units) + '"').encode()
    try:
        b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be")
    except UnicodeDecodeError:
        with pytest.raises(StrictJsonError) as refusal:
            strictjson.check(data)
        assert refusal.value.rule == "json.unpaired_surrogate"
    else:
        strictjson.check(data)
