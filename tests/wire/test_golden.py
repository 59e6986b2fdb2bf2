"""The bytes on the wire are pinned: today's are written again, every release's are read."""

import pytest

from runlane.contract.schemas import SCHEMA_NAMES, history
from tests.wire.golden import KINDS, Golden, load

LINES = [line for schema in SCHEMA_NAMES for line in load(schema)]
IDS = [f"{line.schema}-{line.name}-{line.fingerprint:016x}" for line in LINES]


@pytest.mark.parametrize("line", LINES, ids=IDS)
def test_bytes_of_every_release_are_read_as_the_sample(line: Golden) -> None:
    kind = KINDS[line.schema]
    assert kind.decode(line.data) == kind.samples[line.name]


@pytest.mark.parametrize("line", LINES, ids=IDS)
def test_a_sample_is_written_as_the_bytes_of_its_schema(line: Golden) -> None:
    if line.fingerprint == history(line.schema).current.fingerprint:
        kind = KINDS[line.schema]
        assert kind.encode(kind.samples[line.name]) == line.data
    else:
        assert line.fingerprint in history(line.schema).versions


@pytest.mark.parametrize("schema", SCHEMA_NAMES)
def test_every_sample_has_golden_bytes_of_every_shipped_schema(schema: str) -> None:
    pinned = {(line.name, line.fingerprint) for line in load(schema)}
    current = history(schema).current.fingerprint
    assert {(name, current) for name in KINDS[schema].samples} <= pinned
    assert {fingerprint for _, fingerprint in pinned} == set(history(schema).versions)


def test_a_message_starts_with_the_single_object_marker_and_the_little_endian_fingerprint() -> None:
    line = load("command")[0]
    assert line.data[:2] == b"\xc3\x01"
    assert int.from_bytes(line.data[2:10], "little") == line.fingerprint
