"""Schemas: shipped whole, named by their fingerprints, and growing so that all releases read each other."""

import json
from collections.abc import Callable
from importlib import resources
from itertools import permutations
from typing import Any

import pytest

from runlane.contract.codec.commands import get_command, put_command
from runlane.contract.codec.framing import Frame
from runlane.contract.commands import AppendRunRecord
from runlane.contract.errors import UndecodableMessage
from runlane.contract.schemas import COMMAND, SCHEMA_NAMES, Schema, SchemaHistory, history, parse
from tests.wire import golden, samples
from tests.wire.compatibility import breaks

Change = Callable[[dict[str, Any]], None]


def changed(change: Change) -> str:
    definition = json.loads(history(COMMAND).current.text)
    change(definition)
    return json.dumps(definition)


def operations(definition: dict[str, Any]) -> list[dict[str, Any]]:
    return definition["fields"][0]["type"]  # type: ignore[no-any-return]


def add_fields(definition: dict[str, Any]) -> None:
    """A release that gives two records a new optional field, one of them used in many places."""
    operations(definition)[0]["fields"].append({"name": "note", "type": "string", "default": ""})
    record = operations(definition)[1]["fields"][1]["type"][1]
    record["fields"].append({"name": "trace", "type": ["null", "string"], "default": None})


def add_operation(definition: dict[str, Any]) -> None:
    fields = [{"name": "record", "type": ["null", "RunRecord"]}]
    operations(definition).append({"type": "record", "name": "ArchiveRun", "fields": fields})


def frame(current: Schema, *others: Schema) -> Frame:
    return Frame(SchemaHistory(current, {schema.fingerprint: schema for schema in (current, *others)}))


def test_a_fingerprint_is_the_avro_specification_s_crc() -> None:
    # The specification's own vectors: the schema "int" has 7275d51a3f395c8f.
    schema = parse('{"type": "record", "name": "x.Y", "fields": [], "doc": "says nothing"}')
    assert (
        schema.fingerprint
        == parse('{"fields": [], "name": "Y", "namespace": "x", "type": "record"}').fingerprint
    )
    assert _crc(b'"int"') == 0x7275D51A3F395C8F
    assert schema.fingerprint == _crc(b'{"name":"x.Y","type":"record","fields":[]}')


def _crc(canonical: bytes) -> int:
    empty = 0xC15D213AA4D7A795
    table = []
    for number in range(256):
        entry = number
        for _ in range(8):
            entry = (entry >> 1) ^ (empty if entry & 1 else 0)
        table.append(entry)
    crc = empty
    for byte in canonical:
        crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF]
    return crc


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_what_is_written_is_in_the_history_byte_for_byte(name: str) -> None:
    current = history(name).current
    kept = (
        resources.files("runlane.contract") / "avro" / "history" / name / f"{current.fingerprint:016x}.avsc"
    )
    assert kept.is_file(), "a changed schema is copied to avro/history under its new fingerprint"
    assert parse(kept.read_text(encoding="utf-8")).fingerprint == current.fingerprint


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_file_of_the_history_is_named_by_its_fingerprint(name: str) -> None:
    folder = resources.files("runlane.contract") / "avro" / "history" / name
    names = {file.name: parse(file.read_text(encoding="utf-8")).fingerprint for file in folder.iterdir()}
    assert names == {f"{fingerprint:016x}.avsc": fingerprint for fingerprint in history(name).versions}


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_release_reads_every_other_one_s_golden_bytes(name: str) -> None:
    versions = history(name).versions
    lines = golden.load(name)
    read = 0
    for version in versions.values():
        reader = Frame(SchemaHistory(version, versions))
        for line in lines:
            try:
                reader.read(line.data)
            except UndecodableMessage as error:
                assert error.code == "unknown_operation"  # noqa: PT017 - only an older reader may say so
                assert version is not history(name).current
            read += 1
    assert read == len(lines) * len(versions)


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_shipped_schemas_follow_the_rules_of_growth(name: str) -> None:
    current = history(name).current
    assert [breaks(version.text, current.text) for version in history(name).versions.values()] == [
        [] for _ in history(name).versions
    ]


@pytest.mark.parametrize("change", [add_fields, add_operation], ids=["fields", "operation"])
@pytest.mark.parametrize("name", samples.COMMANDS)
def test_a_grown_schema_and_today_s_read_each_other(change: Change, name: str) -> None:
    today, next_release = history(COMMAND).current, parse(changed(change))
    command = samples.COMMANDS[name]
    datum = {"op": put_command(command)}
    for writer, reader in permutations([today, next_release]):
        read = frame(reader, writer).read(frame(writer).write(datum))
        assert get_command(read["op"]) == command


def test_a_new_field_reads_as_its_default_where_the_writer_had_none() -> None:
    today, next_release = history(COMMAND).current, parse(changed(add_fields))
    data = frame(today).write({"op": put_command(AppendRunRecord(samples.RECORD))})
    read = frame(next_release, today).read(data)
    assert read["op"][1]["record"][1]["trace"] is None


def test_a_new_operation_is_unknown_to_today_s_reader() -> None:
    today, next_release = history(COMMAND).current, parse(changed(add_operation))
    data = frame(next_release).write({"op": ("runlane.ArchiveRun", {"record": None})})
    with pytest.raises(UndecodableMessage) as caught:
        frame(today, next_release).read(data)
    assert caught.value.code == "unknown_operation"


def remove_field(definition: dict[str, Any]) -> None:
    operations(definition)[0]["fields"].pop()


def move_operation(definition: dict[str, Any]) -> None:
    operations(definition)[0:2] = reversed(operations(definition)[0:2])


def drop_operation(definition: dict[str, Any]) -> None:
    operations(definition).pop()


def add_field_without_default(definition: dict[str, Any]) -> None:
    operations(definition)[0]["fields"].append({"name": "note", "type": "string"})


def rename_field(definition: dict[str, Any]) -> None:
    operations(definition)[0]["fields"][0]["name"] = "run"


def retype_labels(definition: dict[str, Any]) -> None:
    operations(definition)[1]["fields"][0]["type"]["fields"][-1]["type"]["values"] = "bytes"


@pytest.mark.parametrize(
    "change",
    [remove_field, move_operation, drop_operation, add_field_without_default, rename_field, retype_labels],
)
def test_a_change_that_breaks_a_rule_is_found(change: Change) -> None:
    assert breaks(history(COMMAND).current.text, changed(change))


@pytest.mark.parametrize("change", [add_fields, add_operation])
def test_a_change_that_follows_the_rules_is_not_blamed(change: Change) -> None:
    assert breaks(history(COMMAND).current.text, changed(change)) == []
