"""What is encoded comes back equal, whatever it holds."""

from hypothesis import given

from runlane.contract.codec import (
    decode_command,
    decode_outcome,
    decode_record,
    encode_command,
    encode_outcome,
    encode_record,
)
from runlane.contract.commands import Command, RecordRunTerminal
from runlane.contract.outcomes import Outcome
from runlane.contract.values import CommittedRecord, RunStatus
from tests.wire import samples


@given(samples.commands)
def test_every_command_comes_back_equal(command: Command) -> None:
    assert decode_command(encode_command(command)) == command


@given(samples.outcomes)
def test_every_outcome_comes_back_equal(outcome: Outcome) -> None:
    assert decode_outcome(encode_outcome(outcome)) == outcome


@given(samples.committed_records)
def test_every_committed_record_comes_back_equal(record: CommittedRecord) -> None:
    assert decode_record(encode_record(record)) == record


def test_samples_show_every_kind_of_command_and_result() -> None:
    assert {type(command) for command in samples.COMMANDS.values()} == set(samples.COMMAND_KINDS)
    assert {type(result) for result in samples.RESULTS.values()} == set(samples.RESULT_KINDS)


def test_a_known_status_comes_back_as_the_enum_and_an_unknown_one_as_its_text() -> None:
    known = decode_command(encode_command(RecordRunTerminal("r", "completed", None)))
    unknown = decode_command(encode_command(RecordRunTerminal("r", "paused", None)))
    assert isinstance(known, RecordRunTerminal)
    assert isinstance(known.status, RunStatus)
    assert isinstance(unknown, RecordRunTerminal)
    assert type(unknown.status) is str


def test_a_time_in_another_zone_is_the_same_instant() -> None:
    from datetime import timedelta, timezone

    from runlane.contract.commands import CreateSession

    east = samples.AT.astimezone(timezone(timedelta(hours=5, minutes=45)))
    assert decode_command(encode_command(CreateSession("s", east))) == CreateSession("s", samples.AT)
