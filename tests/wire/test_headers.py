"""Headers carry what must be readable without a body; reading them never raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.contract.codec import (
    CommandHeaders,
    command_headers,
    outcome_correlation,
    outcome_headers,
    parse_command_headers,
    record_headers,
    record_lane_seq,
)
from runlane.contract.schemas import COMMAND, COMMITTED_RECORD, OUTCOME, history

NOTHING = CommandHeaders("", None, None)

raw_headers = st.lists(
    st.tuples(
        st.sampled_from(["correlation", "reply", "signature", "lane_seq", "schema"]) | st.text(max_size=5),
        st.none() | st.binary(max_size=80) | st.text(max_size=80),
    )
)


def test_a_command_says_schema_answer_address_and_signature() -> None:
    assert command_headers("c-1", 7, "k:00") == [
        ("schema", history(COMMAND).current.label.encode()),
        ("correlation", b"c-1"),
        ("reply", b"7"),
        ("signature", b"k:00"),
    ]


def test_what_was_written_is_read() -> None:
    assert parse_command_headers(command_headers("c-1", 0)) == CommandHeaders("c-1", 0, None)
    assert parse_command_headers(command_headers("c-1", 11, "k:ab")) == CommandHeaders("c-1", 11, "k:ab")
    assert outcome_correlation(outcome_headers("c-1")) == "c-1"
    assert record_lane_seq(record_headers(2**40)) == 2**40


def test_every_message_names_its_schema() -> None:
    labels = [history(name).current.label.encode() for name in (COMMAND, OUTCOME, COMMITTED_RECORD)]
    written = [command_headers("c", 0), outcome_headers("c"), record_headers(1)]
    assert [dict(headers)["schema"] for headers in written] == labels


@pytest.mark.parametrize("correlation", ["", "x" * 65, "größe", "a\nb"])
def test_a_command_without_a_proper_correlation_id_cannot_be_written(correlation: str) -> None:
    with pytest.raises(ValueError, match="correlation id"):
        command_headers(correlation, 0)


def test_a_negative_reply_partition_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="reply partition"):
        command_headers("c", -1)


@pytest.mark.parametrize("value", [None, b"", b"-1", b"1.0", b"seven", b"\xff", b"9" * 20, "²", b" 7"])
def test_a_broken_reply_partition_reads_as_absent(value: bytes | str | None) -> None:
    assert parse_command_headers([("reply", value)]) == NOTHING


@pytest.mark.parametrize("value", [None, b"", b"\xff", b"x" * 65, b"a\x00b"])
def test_a_broken_correlation_id_reads_as_absent(value: bytes | None) -> None:
    assert parse_command_headers([("correlation", value)]) == NOTHING


@pytest.mark.parametrize("headers", [None, []])
def test_no_headers_read_as_absent(headers: list[tuple[str, bytes]] | None) -> None:
    assert parse_command_headers(headers) == NOTHING
    assert outcome_correlation(headers) == ""
    assert record_lane_seq(headers) is None


def test_of_a_repeated_header_the_last_counts() -> None:
    assert parse_command_headers([("reply", b"1"), ("reply", b"2")]).reply_partition == 2


@given(raw_headers)
def test_reading_never_raises(headers: list[tuple[str, bytes | str | None]]) -> None:
    read = parse_command_headers(headers)
    assert len(read.correlation_id) <= 64
    assert read.reply_partition is None or read.reply_partition >= 0
    assert outcome_correlation(headers).isascii()
    assert record_lane_seq(headers) is None or record_lane_seq(headers) >= 0  # type: ignore[operator]
