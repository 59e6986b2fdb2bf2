"""Cutting JSON into pieces with their exact bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.contract.slices import items, members
from runlane.strictjson import StrictJsonError

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
)
BLANKS = st.text(" \t\r\n", max_size=2)


@given(st.dictionaries(TEXT, VALUES), BLANKS)
def test_an_object_is_cut_into_its_members(value: dict[str, object], blank: str) -> None:
    texts = {key: json.dumps(held, ensure_ascii=False) for key, held in value.items()}
    pairs = [f"{blank}{json.dumps(key)}{blank}:{blank}{text}{blank}" for key, text in texts.items()]
    written = f"{blank}{{{blank}{','.join(pairs)}}}{blank}"
    assert members(written.encode()) == {key: text.encode() for key, text in texts.items()}


@given(st.lists(VALUES), BLANKS)
def test_a_list_is_cut_into_its_items(value: list[object], blank: str) -> None:
    texts = [json.dumps(held, ensure_ascii=False) for held in value]
    written = f"{blank}[{blank}{','.join(f'{blank}{text}{blank}' for text in texts)}]{blank}"
    assert items(written.encode()) == [text.encode() for text in texts]


@given(st.binary() | st.text(' {}[]":,a1\\', max_size=12).map(str.encode))
def test_what_the_parser_refuses_is_never_cut(data: bytes) -> None:
    """Not the other way round: what is inside a piece is not judged here, and a key may stand once only."""
    try:
        json.loads(data.decode())
    except ValueError:
        for cut in (members, items):
            with pytest.raises(StrictJsonError):
                cut(data)


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b'{"a":1,"a":1}', "json.duplicate_key"),
        (b'{"a":1,}', "json.syntax"),
        (b'{"a":1}{}', "json.syntax"),
        (b'{"a":1', "json.syntax"),
        (b'{"a"', "json.syntax"),
        (b"{1:1}", "json.syntax"),
        (b'\xef\xbb\xbf{"a":1}', "json.syntax"),
        (b'{"a":"\xff"}', "json.invalid_utf8"),
        (b'{"a":1}\0', "json.syntax"),
        (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "json.too_deep"),
    ],
)
def test_the_rule_is_named(data: bytes, rule: str) -> None:
    with pytest.raises(StrictJsonError) as refused:
        members(data)
    assert refused.value.rule == rule
