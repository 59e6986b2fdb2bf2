"""The JSON of a stream event."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.contract.errors import InvalidCommand
from runlane.contract.stream import StreamEvent, StreamType, decode_event, encode_event, stream_events
from tests.stream.records import T0, committed

EVENT = StreamEvent(
    StreamType.TOOL_END, "run", "session", "k", T0, b'{"result":1.50}', b'{"for":"host","x":[1, 2]}'
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def test_an_event_is_one_object_with_its_payload_as_it_is() -> None:
    assert encode_event(EVENT).decode() == (
        '{"type":"tool_end","run_id":"run","session_id":"session","event_key":"k",'
        '"occurred_at":"2025-08-24T01:46:40.123Z","payload":{"result":1.50},'
        '"server_data":{"for":"host","x":[1, 2]}}'
    )


@given(
    st.builds(
        StreamEvent,
        st.sampled_from(StreamType),
        TEXT,
        TEXT,
        TEXT,
        st.just(T0),
        st.dictionaries(TEXT, st.integers() | TEXT).map(lambda value: json.dumps(value).encode()),
        st.none() | st.just(b'[1.0,"}"]'),
    )
)
def test_an_event_is_read_back_as_it_was(event: StreamEvent) -> None:
    assert decode_event(encode_event(event)) == event


def test_a_payload_as_deep_as_the_gate_allows_survives_its_envelope() -> None:
    deep = "[" * 63 + "]" * 63
    (start,) = stream_events(committed("tool_call_scheduled", f'{{"Payload":{deep}}}'))
    assert json.loads(start.payload)["payload"] == json.loads(deep)
    assert decode_event(encode_event(start)) == start


def test_members_of_later_releases_and_spaces_are_ignored() -> None:
    spaced = encode_event(EVENT).replace(b"{", b' { "later" : {"a":[]} , ', 1) + b"\n"
    assert decode_event(spaced) == EVENT


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "json.syntax"),
        (b"[]", "json.syntax"),
        (b'{"type":"usage","type":"usage"}', "json.duplicate_key"),
        (b"{}", "stream_payload"),
        (b'{"payload":{"a":[NaN]}}', "json.not_finite"),
        (b'{"payload":{}}', "stream_member"),
        (encode_event(EVENT).replace(b"tool_end", b"tool_ends"), "unknown_stream_type"),
        (encode_event(EVENT).replace(b'"run"', b"1"), "stream_member"),
        (encode_event(EVENT).replace(b".123Z", b".123"), "stream_time"),
        (encode_event(EVENT).replace(b"2025-08", b"2025-13"), "stream_time"),
        (encode_event(EVENT).replace(b'{"result":1.50}', b"[]"), "stream_payload"),
    ],
)
def test_what_is_no_event_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(InvalidCommand) as refused:
        decode_event(data)
    assert refused.value.code == code
