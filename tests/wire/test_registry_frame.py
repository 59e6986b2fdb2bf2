"""With a schema registry's ids the frame is the registry's; both frames are read."""

import pytest

from runlane.contract.codec import Codec, SchemaIds, decode_command, encode_command
from runlane.contract.errors import UndecodableMessage
from runlane.contract.schemas import COMMAND, SCHEMA_NAMES, history
from tests.wire import samples

VERSIONS = [schema for name in SCHEMA_NAMES for schema in history(name).versions.values()]
IDS = SchemaIds({schema.fingerprint: 1000 + number for number, schema in enumerate(VERSIONS)})
CODEC = Codec(IDS)
COMMAND_ID = IDS.by_fingerprint[history(COMMAND).current.fingerprint]


@pytest.mark.parametrize("name", samples.COMMANDS)
def test_a_command_is_written_with_the_registry_s_id_and_the_same_body(name: str) -> None:
    command = samples.COMMANDS[name]
    data = CODEC.encode_command(command)
    assert data[:5] == b"\x00" + COMMAND_ID.to_bytes(4, "big")
    assert data[5:] == encode_command(command)[10:]
    assert CODEC.decode_command(data) == command


def test_outcomes_and_records_too() -> None:
    outcome, record = samples.OUTCOMES["error"], samples.RECORDS["record"]
    assert CODEC.decode_outcome(CODEC.encode_outcome(outcome)) == outcome
    assert CODEC.decode_record(CODEC.encode_record(record)) == record


def test_the_single_object_frame_is_still_read() -> None:
    command = samples.COMMANDS["claim_run"]
    assert CODEC.decode_command(encode_command(command)) == command


def test_an_id_that_is_not_ours_is_unknown() -> None:
    with pytest.raises(UndecodableMessage) as caught:
        CODEC.decode_command(b"\x00\x00\x00\x00\x07rest")
    assert caught.value.code == "unknown_schema"


def test_another_topic_s_id_is_the_wrong_schema() -> None:
    with pytest.raises(UndecodableMessage) as caught:
        CODEC.decode_command(CODEC.encode_outcome(samples.OUTCOMES["error"]))
    assert caught.value.code == "wrong_schema"


def test_without_ids_the_registry_s_frame_is_unknown() -> None:
    with pytest.raises(UndecodableMessage) as caught:
        decode_command(CODEC.encode_command(samples.COMMANDS["claim_run"]))
    assert caught.value.code == "unknown_frame"
