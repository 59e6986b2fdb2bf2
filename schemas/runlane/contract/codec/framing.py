"""Avro bytes with the schema's name in front, written and read fast.

Two frames exist: Avro single-object encoding (C3 01, the fingerprint in 8 little-endian bytes, the body),
which is the default, and the schema registry frame (00, the id in 4 big-endian bytes, the body). Whoever
knows registry ids reads both (design, Wire formats).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, cast

# fastavro's annotations leave the stream's type open.
from fastavro import (
    schemaless_reader,  # pyright: ignore[reportUnknownVariableType]
    schemaless_writer,  # pyright: ignore[reportUnknownVariableType]
)

from runlane.contract.errors import UndecodableMessage
from runlane.contract.limits import MAX_MESSAGE_BYTES
from runlane.contract.schemas import SCHEMA_NAMES, Schema, SchemaHistory, history

SINGLE_OBJECT: Final = b"\xc3\x01"
REGISTRY: Final = b"\x00"
_SINGLE_OBJECT_BYTES: Final = 10
_REGISTRY_BYTES: Final = 5
_VARINT_BYTES: Final = 10
_VARINT_MORE: Final = 0x80
_NEGATIVE: Final = 1


@dataclass(frozen=True, slots=True)
class SchemaIds:
    """The ids that a schema registry gave to our schemas, by fingerprint."""

    by_fingerprint: Mapping[int, int]

    def fingerprint(self, schema_id: int) -> int | None:
        """Return the fingerprint of the schema that the registry knows as ``schema_id``, or None."""
        return next((crc for crc, known in self.by_fingerprint.items() if known == schema_id), None)


class Frame:
    """Writes and reads the messages of one schema history."""

    def __init__(self, versions: SchemaHistory, ids: SchemaIds | None = None) -> None:
        self._versions = versions
        self._ids = ids
        self._current = versions.current
        self._parsed = versions.current.parsed
        self._single = SINGLE_OBJECT + self._current.fingerprint.to_bytes(8, "little")
        self._prefix = self._single
        if ids is not None:
            self._prefix = REGISTRY + ids.by_fingerprint[self._current.fingerprint].to_bytes(4, "big")

    @property
    def schema(self) -> Schema:
        """The schema that messages are written with."""
        return self._current

    def write(self, datum: Any) -> bytes:
        """Return ``datum`` as a framed message; fastavro's errors pass through."""
        stream = BytesIO()
        stream.write(self._prefix)
        schemaless_writer(stream, self._parsed, datum)
        return stream.getvalue()

    def read(self, data: bytes | None) -> Any:
        """Return the datum that ``data`` holds, in the shape of the current schema.

        Records inside unions come as (full name, fields). Raises ``UndecodableMessage``.
        """
        if data is None:
            raise UndecodableMessage("the message has no value", code="null_message")
        if len(data) > MAX_MESSAGE_BYTES:
            raise UndecodableMessage("the message is larger than the limit", code="oversize_message")
        writer, start = self._current, _SINGLE_OBJECT_BYTES
        if not data.startswith(self._single):
            writer, start = self._written_with(data)
        # Each schema starts with a branch or a length; fastavro would count a negative branch from the end.
        if data[start : start + 1] and data[start] & _NEGATIVE:
            raise UndecodableMessage("the body starts with a negative number", code="malformed_message")
        stream = BytesIO(data)
        stream.seek(start)
        datum = self._body(stream, writer)
        if stream.tell() != len(data):
            raise UndecodableMessage("bytes are left after the message", code="trailing_bytes")
        return datum

    def _body(self, stream: BytesIO, writer: Schema) -> Any:
        reader = None if writer is self._current else self._parsed
        start = stream.tell()
        try:
            return schemaless_reader(stream, writer.parsed, reader, return_record_name=True)
        except Exception as error:  # noqa: BLE001 - hostile bytes make fastavro raise nearly anything
            if _operation_unknown(stream.getvalue()[start:], writer, self._current):
                raise UndecodableMessage("the operation is unknown", code="unknown_operation") from None
            raise UndecodableMessage(
                f"the body does not follow its schema ({type(error).__name__})", code="malformed_message"
            ) from None

    def _written_with(self, data: bytes) -> tuple[Schema, int]:
        fingerprint: int | None = None
        start = _SINGLE_OBJECT_BYTES
        if data.startswith(SINGLE_OBJECT) and len(data) >= _SINGLE_OBJECT_BYTES:
            fingerprint = int.from_bytes(data[2:start], "little")
        elif data.startswith(REGISTRY) and len(data) >= _REGISTRY_BYTES and self._ids is not None:
            start = _REGISTRY_BYTES
            fingerprint = self._ids.fingerprint(int.from_bytes(data[1:start], "big"))
        else:
            raise UndecodableMessage("the message names no schema", code="unknown_frame")
        writer = self._versions.versions.get(fingerprint) if fingerprint is not None else None
        if writer is None:
            if any(fingerprint in history(name).versions for name in SCHEMA_NAMES):
                raise UndecodableMessage("the message has another topic's schema", code="wrong_schema")
            raise UndecodableMessage("the message's schema is unknown", code="unknown_schema")
        return writer, start


def _operation_unknown(body: bytes, writer: Schema, reader: Schema) -> bool:
    """Whether ``body`` starts with a union branch that its own schema, or the reader's, doesn't have."""
    written, known = _operations(writer), _operations(reader)
    if not written:
        return False
    number = shift = 0
    for byte in body[:_VARINT_BYTES]:
        number |= (byte & ~_VARINT_MORE) << shift
        shift += 7
        if not byte & _VARINT_MORE:
            return number >> 1 >= len(written) or written[number >> 1] not in known
    return False


def _operations(schema: Schema) -> list[str]:
    """Return the names of the union that is the schema's first field, none where that is no union."""
    first: Any = schema.parsed["fields"][0]["type"]
    return [branch["name"] for branch in cast("Sequence[Any]", first)] if isinstance(first, list) else []
