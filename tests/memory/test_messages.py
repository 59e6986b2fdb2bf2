"""Messages of the memory topic: read back as they were, refused by the rule that they break."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.contract.codec import memory_headers, parse_command_headers
from runlane.contract.errors import InvalidCommand
from runlane.contract.limits import MAX_COMMAND_PAYLOAD_BYTES
from runlane.contract.memory import (
    AppendMemory,
    DeleteMemory,
    MemoryEvent,
    MemoryType,
    decode_event,
    decode_memory_command,
    encode_memory_command,
)
from tests.memory.stack import note, notes
from tests.stream.records import T0

IDS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=20).map(
    lambda text: unicodedata.normalize("NFC", text)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(IDS, IDS, IDS, st.lists(TEXTS, min_size=1, max_size=4))
def test_an_append_is_read_back_as_it_was(agent: str, run: str, key: str, texts: list[str]) -> None:
    append = AppendMemory.of(agent, run, key, notes(*texts))
    read = decode_memory_command(encode_memory_command(append))
    assert read == append
    assert isinstance(read, AppendMemory)
    assert list(map(decode_event, read.events)) == notes(*texts)
    assert read.digest == append.digest


@given(IDS, IDS, IDS)
def test_a_deletion_is_read_back_as_it_was(agent: str, run: str, key: str) -> None:
    delete = DeleteMemory(agent, run, key)
    assert decode_memory_command(encode_memory_command(delete)) == delete


def test_numbers_of_any_size_and_spelling_survive_to_the_byte() -> None:
    event = (
        b'{"Type":"user_message","Timestamp":"2026-01-01T00:00:00Z",'
        b'"Data":{"structured":{"big":1180591620717411303424,"rate":1.50}},"Labels":null}'
    )
    read = decode_memory_command(encode_memory_command(AppendMemory("a", "r", "k", (event,))))
    assert isinstance(read, AppendMemory)
    assert read.events == (event,)


def test_another_cut_of_the_same_bytes_is_another_append() -> None:
    one, two = AppendMemory("a", "r", "k", (b"12", b"3")), AppendMemory("a", "r", "k", (b"1", b"23"))
    assert one.digest != two.digest


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "json.syntax"),
        (b"\xff", "json.invalid_utf8"),
        (b"[]", "json.syntax"),
        (b"{}", "memory_operation"),
        (b'{"Op":"append","Op":"append"}', "json.duplicate_key"),
        (b'{"Op":1}', "memory_operation"),
        (b'{"Op":"forget","AgentID":"a","RunID":"r","Key":"k"}', "memory_operation"),
        (b'{"Op":"delete","AgentID":"","RunID":"r","Key":"k"}', "agent_id_required"),
        (b'{"Op":"delete","AgentID":"a","RunID":"","Key":"k"}', "run_id_required"),
        (b'{"Op":"delete","AgentID":"a","RunID":"r","Key":""}', "key_required"),
        (b'{"Op":"delete","AgentID":"\\ud800","RunID":"r","Key":"k"}', "json.unpaired_surrogate"),
        (b'{"Op":"delete","AgentID":"a\\u0000","RunID":"r","Key":"k"}', "id_not_printable"),
        (b'{"Op":"append","AgentID":"a","RunID":"r","Key":"k"}', "json.syntax"),
        (b'{"Op":"append","AgentID":"a","RunID":"r","Key":"k","Events":[]}', "memory_events_required"),
        (b'{"Op":"append","AgentID":"a","RunID":"r","Key":"k","Events":[{}]}', "memory_event"),
        (b'{"Op":"append","AgentID":"a","RunID":"r","Key":"k","Events":{}}', "json.syntax"),
    ],
)
def test_what_is_no_message_is_refused_by_its_rule(value: bytes | None, code: str) -> None:
    with pytest.raises(InvalidCommand) as refused:
        decode_memory_command(value)
    assert refused.value.code == code
    assert refused.value.__context__ is None


def test_an_append_holds_at_most_the_payloads_of_a_command() -> None:
    text = "x" * (MAX_COMMAND_PAYLOAD_BYTES // 2)
    with pytest.raises(InvalidCommand) as refused:
        decode_memory_command(encode_memory_command(AppendMemory.of("a", "r", "k", notes(text, text))))
    assert refused.value.code == "payload_too_large"


def test_an_event_that_is_no_json_makes_no_append() -> None:
    bad = MemoryEvent(MemoryType.USER_MESSAGE, T0, {"structured": float("nan")})
    with pytest.raises(InvalidCommand):
        AppendMemory.of("a", "r", "k", [note("fine"), bad])


def test_the_headers_say_where_the_answer_goes() -> None:
    headers = parse_command_headers(memory_headers("c-1", 3))
    assert (headers.correlation_id, headers.reply_partition, headers.signature) == ("c-1", 3, None)
    assert dict(memory_headers("c-1", 3))["schema"] == b"runlane.memory.v1"
