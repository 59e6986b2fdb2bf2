"""The fast JSON library says what the standard one says: the texts of rows, the members of payloads."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runlane.contract.payloads.stated import stated_members
from runlane.store.rows import members
from runlane.strictjson import MAX_INTEGER_DIGITS, loads

CELLS = st.text(st.characters(exclude_categories=["Cs"])) | st.integers(-(2**63), 2**64 - 1)


@given(st.lists(CELLS).map(tuple))
@example(('\u2028\x7f\x00\x1f\b\f\n\r\t"\\/\ufffe😀', -1, 2**64 - 1, ""))
def test_a_row_is_the_same_json_array_by_both_encoders(row: tuple[str | int, ...]) -> None:
    standard = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    assert orjson.dumps(row) == standard.encode()


@pytest.mark.parametrize(
    "payload",
    [
        '{"Model":"m","InputTokens":9223372036854775807,"Cost":1.5e-3,"\\u00e9":null}',
        '{"Model":"m","InputTokens":18446744073709551616}',
        f'{{"Model":"m","InputTokens":{"9" * MAX_INTEGER_DIGITS}}}',
        '["Model"]',
        "12",
    ],
)
def test_a_payload_that_passed_the_gate_states_the_same_by_both_decoders(payload: str) -> None:
    loads(payload.encode())
    assert members(payload) == stated_members(payload)
