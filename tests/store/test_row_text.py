"""The digested text of a row: the fast encoder writes what the standard one, which verify uses, does."""

from __future__ import annotations

import json

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

CELLS = st.text(st.characters(exclude_categories=["Cs"])) | st.integers(-(2**63), 2**64 - 1)


@given(st.lists(CELLS).map(tuple))
@example(('\u2028\x7f\x00\x1f\b\f\n\r\t"\\/\ufffe😀', -1, 2**64 - 1, ""))
def test_a_row_is_the_same_json_array_by_both_encoders(row: tuple[str | int, ...]) -> None:
    standard = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    assert orjson.dumps(row) == standard.encode()
