"""The Avro schemas of commands, outcomes and committed records, with every past version of each.

``avro/<name>.avsc`` is what this release writes; ``avro/history/<name>/<fingerprint>.avsc`` keeps each
version that was ever shipped, this one included, so that any message of any release can still be read
(design, Wire formats). A fingerprint is CRC-64-AVRO of the schema's parsing canonical form, so
documentation and logical types don't change it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final, cast

from fastavro import parse_schema
from fastavro.schema import fingerprint, to_parsing_canonical_form

COMMAND: Final = "command"
OUTCOME: Final = "outcome"
COMMITTED_RECORD: Final = "committed_record"
SCHEMA_NAMES: Final = (COMMAND, OUTCOME, COMMITTED_RECORD)


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """One version of one schema: full name, fingerprint, text as shipped, and what fastavro reads with."""

    name: str
    fingerprint: int
    text: str
    parsed: Any

    @property
    def label(self) -> str:
        """What the header ``schema`` says: full name and fingerprint in hex."""
        return f"{self.name}:{self.fingerprint:016x}"


@dataclass(frozen=True, slots=True, eq=False)
class SchemaHistory:
    """A schema with all its versions by fingerprint; ``current`` is one of them."""

    current: Schema
    versions: Mapping[int, Schema]


def parse(text: str) -> Schema:
    """Return the schema that ``text``, an ``.avsc`` file, defines.

    Raises ``ValueError`` or fastavro's ``SchemaParseException`` when it is none.
    """
    definition = json.loads(text)
    crc = bytes.fromhex(fingerprint(to_parsing_canonical_form(definition), "CRC-64-AVRO"))
    # fastavro is twice as slow where it makes a time of a long itself (19 against 11 microseconds a message).
    parsed: Any = parse_schema(_without_logical_types(definition))
    return Schema(parsed["name"], int.from_bytes(crc, "little"), text, parsed)


@cache
def history(name: str) -> SchemaHistory:
    """Return the shipped versions of the schema ``name``, one of ``SCHEMA_NAMES``; files are read once."""
    folder = resources.files("runlane.contract") / "avro"
    return read_history(folder / f"{name}.avsc", folder / "history" / name)


def read_history(current: Traversable, past: Traversable) -> SchemaHistory:
    """Return the history made of the file ``current`` and the ``.avsc`` files of the folder ``past``."""
    newest = parse(current.read_text(encoding="utf-8"))
    files = [file for file in past.iterdir() if file.name.endswith(".avsc")]
    shipped = [parse(file.read_text(encoding="utf-8")) for file in files]
    return SchemaHistory(newest, {schema.fingerprint: schema for schema in [*shipped, newest]})


def _without_logical_types(definition: Any) -> Any:
    if isinstance(definition, dict):
        fields = cast("Mapping[str, Any]", definition)
        return {key: _without_logical_types(value) for key, value in fields.items() if key != "logicalType"}
    if isinstance(definition, list):
        return [_without_logical_types(item) for item in cast("Sequence[Any]", definition)]
    return definition
