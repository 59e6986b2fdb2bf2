"""Bytes that are no message of ours are refused with a code; nothing else is ever raised."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.contract.codec import (
    MAX_COMMAND_BYTES,
    decode_command,
    decode_outcome,
    decode_record,
    encode_command,
    encode_outcome,
    encode_record,
)
from runlane.contract.commands import AppendRunRecord, Command, CreateSession, RecordRunSuspension
from runlane.contract.errors import InvalidCommand, UndecodableMessage
from runlane.contract.limits import MAX_COMMAND_PAYLOAD_BYTES, MAX_MESSAGE_BYTES
from runlane.contract.values import RunSuspension
from tests.wire import samples

APPEND = encode_command(samples.COMMANDS["append_run_record"])
FRAME = APPEND[:10]
UNKNOWN_OPERATIONS = {"branch 63": b"\x7e", "branch 14": b"\x1c", "branch 300": b"\xd8\x04"}


def refusal(data: bytes | None) -> UndecodableMessage:
    with pytest.raises(UndecodableMessage) as caught:
        decode_command(data)
    return caught.value


def test_a_message_without_value() -> None:
    assert refusal(None).code == "null_message"


def test_a_message_larger_than_the_limit() -> None:
    assert refusal(APPEND + bytes(MAX_MESSAGE_BYTES)).code == "oversize_message"


@pytest.mark.parametrize(
    "data", [b"", b"\xc3", APPEND[:9], b"{}", b"null", b"\x00\x00\x00\x00\x07" + APPEND[10:]]
)
def test_a_message_that_names_no_schema(data: bytes) -> None:
    assert refusal(data).code == "unknown_frame"


def test_a_message_with_a_schema_that_nobody_shipped() -> None:
    assert refusal(b"\xc3\x01" + b"\x07" * 8 + APPEND[10:]).code == "unknown_schema"


@pytest.mark.parametrize(
    "data", [encode_outcome(samples.OUTCOMES["append"]), encode_record(samples.RECORDS["record"])]
)
def test_a_message_of_another_topic(data: bytes) -> None:
    assert refusal(data).code == "wrong_schema"


@pytest.mark.parametrize("branch", UNKNOWN_OPERATIONS.values(), ids=UNKNOWN_OPERATIONS)
def test_an_operation_that_does_not_exist(branch: bytes) -> None:
    assert refusal(FRAME + branch + APPEND[11:]).code == "unknown_operation"


def test_an_operation_with_a_negative_number() -> None:
    assert refusal(FRAME + b"\x01" + APPEND[11:]).code == "malformed_message"


def test_a_message_with_bytes_behind_it() -> None:
    assert refusal(APPEND + b"\x00").code == "trailing_bytes"


@pytest.mark.parametrize("length", range(10, len(APPEND)))
def test_a_message_cut_short_anywhere(length: int) -> None:
    assert refusal(APPEND[:length]).code in {"malformed_message", "unknown_operation"}


def test_text_that_is_not_utf_8() -> None:
    assert refusal(APPEND.replace(b"agent-a", b"agent-\xff")).code == "malformed_message"


def test_a_time_outside_the_calendar() -> None:
    # CreateSession is branch 11: an empty id, then the branch of long and its greatest value.
    data = FRAME + b"\x16\x00\x02" + b"\xfe" + b"\xff" * 8 + b"\x01"
    assert refusal(data).code == "value_out_of_range"


def test_an_outcome_is_either_a_result_or_an_error() -> None:
    neither = encode_outcome(samples.OUTCOMES["append"]._replace(result=None))
    both = encode_outcome(samples.OUTCOMES["append"]._replace(error=samples.ERROR))
    for data in (neither, both):
        with pytest.raises(UndecodableMessage) as caught:
            decode_outcome(data)
        assert caught.value.code == "value_out_of_range"


def test_a_status_that_does_not_exist() -> None:
    data = encode_record(samples.RECORDS["record"])
    with pytest.raises(UndecodableMessage) as caught:
        decode_record(data.replace(b"active", b"aktive"))
    assert caught.value.code == "value_out_of_range"


def taken(data: bytes) -> Command | str:
    """The command, or the code of the refusal."""
    try:
        return decode_command(data)
    except UndecodableMessage as error:
        return error.code


@given(st.binary(max_size=200))
def test_any_bytes_behind_a_true_frame_give_a_command_or_a_refusal(body: bytes) -> None:
    found = taken(FRAME + body)
    assert isinstance(found, str) or decode_command(encode_command(found)) == found


@given(samples.commands, st.data())
def test_a_flipped_byte_gives_a_command_or_a_refusal(command: Command, data: st.DataObject) -> None:
    message = bytearray(encode_command(command))
    message[data.draw(st.integers(0, len(message) - 1))] ^= data.draw(st.integers(1, 255))
    found = taken(bytes(message))
    assert not isinstance(found, str) or re.fullmatch(r"[a-z_]+", found)


@given(st.binary(min_size=8, max_size=64))
def test_a_refusal_never_quotes_the_bytes(secret: bytes) -> None:
    data = APPEND.replace(samples.PAYLOAD, secret.ljust(len(samples.PAYLOAD), b"\xff"))[:-3]
    message = str(refusal(data))
    assert message in {
        "the body does not follow its schema (EOFError)",
        "the body does not follow its schema (UnicodeDecodeError)",
    }


@pytest.mark.parametrize(
    "command",
    [
        CreateSession("s", datetime(2026, 1, 1)),  # noqa: DTZ001 - the naive time is the fault
        CreateSession("\ud800", samples.AT),
        AppendRunRecord(replace(samples.RECORD, payload=None)),  # type: ignore[arg-type]
        AppendRunRecord(replace(samples.RECORD, run_id=7)),  # type: ignore[arg-type]
        CreateSession("s", datetime.max.replace(tzinfo=UTC).isoformat()),  # type: ignore[arg-type]
    ],
    ids=["naive time", "unpaired surrogate", "no payload", "number for text", "text for a time"],
)
def test_a_command_that_no_bytes_can_hold_is_refused_before_it_is_sent(command: Command) -> None:
    with pytest.raises(InvalidCommand) as caught:
        encode_command(command)
    assert caught.value.code == "not_encodable"


def test_the_largest_payloads_fit_a_message_with_all_else_at_its_limit() -> None:
    command = RecordRunSuspension("r" * 256, RunSuspension("i" * 256, bytes(MAX_COMMAND_PAYLOAD_BYTES)), None)
    assert len(encode_command(command)) < MAX_COMMAND_BYTES


def test_a_command_that_does_not_fit_a_message_is_refused() -> None:
    command = RecordRunSuspension("r", RunSuspension("i", bytes(MAX_MESSAGE_BYTES)), None)
    with pytest.raises(InvalidCommand) as caught:
        encode_command(command)
    assert caught.value.code == "message_too_large"
