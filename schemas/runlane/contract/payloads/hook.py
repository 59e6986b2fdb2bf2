"""What all lenient payloads share: how they are decoded and written (contract 1.10)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.payloads.text import dump
from runlane.strictjson import StrictJsonError
from runlane.transcript import MessageError
from runlane.transcript.canonical import compact, escape_five, value_text


@dataclass(frozen=True)
class _Form:
    """How a field is written when its type alone does not say."""

    name: str


RAW: Final = _Form("raw")
FREE: Final = _Form("free")
OMITTED_WHEN_EMPTY: Final = _Form("omitted when empty")
OMITTED_WHEN_ABSENT: Final = _Form("omitted when absent")


def _from_base64(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        return value  # a string, which the field's strict type refuses


def as_tuple(value: object) -> object:
    """Turn a decoded JSON list into a tuple and leave anything else to the field's type."""
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
RawJson = Annotated[bytes | None, RAW]
"""Free JSON as the bytes it is spelled in; None is absent, ``b"null"`` is a JSON null."""
FreeJson = Annotated[Any, FREE]
"""Free JSON as Python values, numbers exact."""
Base64 = Annotated[bytes | None, BeforeValidator(_from_base64)]
Labels = dict[str, str] | None
Strings = Annotated[tuple[str, ...] | None, BeforeValidator(as_tuple)]


class Hook(BaseModel):
    """Base of the lenient payloads: unknown keys are ignored, an absent or null field has its default.

    Types are strict and keys exact. ``record_type`` is the type of the record that holds the payload, empty
    for a nested value.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, validate_by_name=True)
    record_type: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, object]", value)
        return {key: held for key, held in members.items() if held is not None}

    def encode(self) -> bytes:
        """Return the payload bytes in the contract's order and form; ``InvalidCommand`` if not JSON."""
        return _text(self).encode()


def _text(hook: Hook) -> str:
    return "{" + ",".join(_members(hook)) + "}"


def _members(hook: Hook) -> Iterator[str]:
    for name, field in type(hook).model_fields.items():
        value: object = getattr(hook, name)
        if not value and OMITTED_WHEN_EMPTY in field.metadata:
            continue
        if value is None and OMITTED_WHEN_ABSENT in field.metadata:
            continue
        key = field.validation_alias or name
        assert isinstance(key, str), "an alias of a payload is one key"
        yield f'"{key}":{_value_text(value, field.metadata)}'


def _value_text(value: object, metadata: Sequence[object]) -> str:
    if value is None:
        return "null"
    if FREE in metadata:
        return _free_text(value)
    if isinstance(value, bytes):
        return _raw_text(value) if RAW in metadata else f'"{base64.b64encode(value).decode()}"'
    if isinstance(value, Hook):
        return _text(value)
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return "[" + ",".join(_value_text(item, ()) for item in items) + "]"
    if isinstance(value, Mapping):
        labels = cast("Mapping[str, str]", value)
        return dump({key: labels[key] for key in sorted(labels)}).decode()
    return dump(value).decode()


def _raw_text(value: bytes) -> str:
    rule = ""
    try:
        strictjson.check(value)
    except StrictJsonError as refused:
        rule = refused.rule
    if rule:
        raise InvalidCommand("a raw member is not valid JSON", code=rule)
    return escape_five(compact(value.decode()))


def _free_text(value: object) -> str:
    rule = ""
    try:
        return escape_five(value_text(cast("strictjson.JsonValue", value), ""))
    except MessageError as refused:
        rule = refused.code
    raise InvalidCommand("a free member is not JSON", code=rule)
