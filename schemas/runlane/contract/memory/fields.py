"""Reading the members of an event's data by name and type (contract 9)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from pydantic import ValidationError

from runlane.contract.errors import InvalidCommand
from runlane.contract.memory.values import MemoryValue
from runlane.contract.payloads import ToolBounds
from runlane.strictjson import JsonValue
from runlane.transcript import MessageError
from runlane.transcript.canonical import escape_five, value_text

_INT64 = range(-(2**63), 2**63)


def required_text(data: Mapping[str, MemoryValue], name: str) -> str:
    """Return a string that must be there, if empty; null is not a string."""
    value = data.get(name)
    if not isinstance(value, str):
        raise wrong_type(name)
    return value


def text(data: Mapping[str, MemoryValue], name: str) -> str:
    """Return an optional string, empty where it is absent or null."""
    return required_text(data, name) if data.get(name) is not None else ""


def integer(data: Mapping[str, MemoryValue], name: str) -> int:
    """Return an optional whole number of 64 bits, 0 where it is absent or null."""
    value = data.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value not in _INT64:
        raise wrong_type(name)
    return value


def flag(data: Mapping[str, MemoryValue], name: str) -> bool:
    """Return an optional boolean, false where it is absent or null."""
    value = data.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise wrong_type(name)
    return value


def free(data: Mapping[str, MemoryValue], name: str) -> JsonValue:
    """Return any JSON value, None where it is absent."""
    value = data.get(name)
    if isinstance(value, bytes | ToolBounds):
        raise wrong_type(name)
    return value


def json_text(data: Mapping[str, MemoryValue], name: str) -> str:
    """Return JSON text as it is, unparsed; any other JSON value, as older events hold it, as text (C374)."""
    value = free(data, name)
    if value is None or isinstance(value, str):
        return value or ""
    return free_text(value)


def raw_bytes(data: Mapping[str, MemoryValue], name: str) -> bytes:
    """Return bytes, raw or in base64 (C373); empty where they are absent or null."""
    value = data.get(name)
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    encoded = text(data, name)
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        decoded = None
    if decoded is None:
        raise InvalidCommand(f"memory field {name} is not base64", code="memory_not_base64")
    return decoded


def bounds(data: Mapping[str, MemoryValue], name: str) -> ToolBounds | None:
    """Return the bounds of a result; an empty object is bounds of nothing, absent or null is None."""
    value = data.get(name)
    if value is None or isinstance(value, ToolBounds):
        return value
    try:
        return ToolBounds.model_validate(value, by_name=False)
    except ValidationError:
        pass
    raise wrong_type(name)


def free_text(value: JsonValue) -> str:
    """Return the canonical text of free JSON; ``InvalidCommand`` for what JSON can't hold."""
    code = ""
    try:
        return escape_five(value_text(value, ""))
    except MessageError as refused:
        code = refused.code
    raise InvalidCommand("memory data is not JSON", code=code)


def wrong_type(name: str) -> InvalidCommand:
    """Return the error of a member that is missing or of another type."""
    return InvalidCommand(f"memory field {name} is missing or of a wrong type", code="memory_wrong_type")
