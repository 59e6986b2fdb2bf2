"""The Python types of a command's fields: what a caller without a type checker may get wrong."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Final, cast

from runlane.contract.commands import ClaimReceipt, Command
from runlane.contract.validate.envelope import fail
from runlane.contract.values import RunRecord, RunStart, RunSuspension

_BUFFERS = (bytes, bytearray)


def check_types(command: Command) -> None:
    """Raise ``InvalidCommand`` with code ``wrong_type`` for a field of another type than is declared.

    A ``bytearray`` may stand for ``bytes``: it is copied. An owner needs no such check, since Avro has types.
    """
    _check_fields(command, type(command).__name__)


def _check_fields(value: object, name: str) -> None:
    for field, allowed in _DECLARED[type(value)]:
        held: object = getattr(value, field)
        where = f"{name}.{field}"
        if not isinstance(held, allowed):
            raise fail("wrong_type", f"{where} has the wrong type")
        if dataclasses.is_dataclass(held):
            _check_fields(held, where)
        elif isinstance(held, Mapping):
            labels = cast("Mapping[object, object]", held)
            if not all(isinstance(key, str) and isinstance(text, str) for key, text in labels.items()):
                raise fail("wrong_type", f"{where} has the wrong type")


def _declared(kind: type[Any]) -> tuple[tuple[str, tuple[type, ...]], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((field.name, _allowed(hints[field.name])) for field in dataclasses.fields(kind))


def _allowed(hint: Any) -> tuple[type, ...]:
    if isinstance(hint, types.UnionType):
        return tuple(kind for part in typing.get_args(hint) for kind in _allowed(part))
    if hint is bytes:
        return _BUFFERS
    return (typing.get_origin(hint) or hint,)


_VALUES: Final = (ClaimReceipt, RunRecord, RunStart, RunSuspension)
_DECLARED: Final = {kind: _declared(kind) for kind in (*typing.get_args(Command), *_VALUES)}
