"""Rules of a single record, and the limits that hold for every command (contract 0, 1.1, 1.7)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.ids import check_id, id_fault, plainly_valid
from runlane.contract.limits import (
    MAX_COMMAND_PAYLOAD_BYTES,
    MAX_LABEL_KEY_BYTES,
    MAX_LABEL_VALUE_BYTES,
    MAX_LABELS,
    MAX_TYPE_BYTES,
)
from runlane.contract.times import is_whole_millisecond, time_fault
from runlane.contract.values import RunRecord

_TOO_LARGE: Final = (
    "the payloads of one command are larger than 900 KiB together: keep larger ones elsewhere, named by a URI"
)


def fail(code: str, message: str) -> InvalidCommand:
    """Build the error that names the broken rule by ``code``."""
    return InvalidCommand(message, code=code)


def require(record: RunRecord | None, name: str = "record") -> RunRecord:
    """Return the record, which must be there."""
    if record is None:
        raise fail("record_required", f"{name} is required")
    return record


def validate_record(record: RunRecord | None, name: str = "record") -> RunRecord:
    """Check the envelope in the contract's order (1.7), then identifiers and limits; return the record."""
    record = require(record, name)
    if not record.run_id:
        raise fail("run_id_required", f"{name}: run id is required")
    if not record.agent_id:
        raise fail("agent_id_required", f"{name}: agent id is required")
    if not record.event_key:
        raise fail("event_key_required", f"{name}: event key is required")
    if not record.type:
        raise fail("type_required", f"{name}: type is required")
    if not record.payload:
        raise fail("payload_required", f"{name}: payload is required")
    check_timestamp(record.timestamp, f"{name}: timestamp")
    check_record_ids(record, name)
    return record


def check_record_ids(record: RunRecord, name: str) -> None:
    """Check the identifiers that are there, and the length of the type."""
    ids = (record.run_id, record.agent_id, record.event_key, record.session_id, record.turn_id)
    if not plainly_valid(*ids):
        for value in ids:
            if value and (fault := id_fault(value)):
                raise fail(fault, f"{name}: an identifier breaks a rule")
    if len(record.type) > MAX_TYPE_BYTES or not record.type.isascii():
        check_text(record.type, "type", MAX_TYPE_BYTES)


def check_timestamp(timestamp: datetime | None, name: str) -> datetime:
    """Return a time that is set, aware and a whole number of milliseconds (contract 1.1)."""
    instant = check_instant(timestamp, name)
    if not is_whole_millisecond(instant):
        raise fail("time_not_whole_millisecond", f"{name} is finer than a millisecond")
    return instant


def check_instant(instant: datetime | None, name: str) -> datetime:
    """Return a time that is set and aware; no precision is asked for (session times)."""
    if instant is None:
        raise fail("time_required", f"{name} is required")
    fault = time_fault(instant)
    if fault:
        raise fail(fault, f"{name} is not a usable instant")
    return instant


def check_text(value: str, name: str, max_bytes: int) -> None:
    """Check free text: valid Unicode of at most ``max_bytes`` in UTF-8."""
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        size = -1
    if size < 0:
        raise fail(f"{name}_not_unicode", f"{name} holds an unpaired surrogate")
    if size > max_bytes:
        raise fail(f"{name}_too_long", f"{name} is longer than {max_bytes} bytes")


def check_labels(labels: Mapping[str, str]) -> None:
    """Check the limits on labels."""
    if len(labels) > MAX_LABELS:
        raise fail("too_many_labels", f"there are more than {MAX_LABELS} labels")
    for key, value in labels.items():
        check_text(key, "label_key", MAX_LABEL_KEY_BYTES)
        check_text(value, "label_value", MAX_LABEL_VALUE_BYTES)


def check_present_id(value: str, name: str) -> None:
    """Check an identifier that must be there."""
    if not value:
        raise fail(f"{name}_required", f"{name} is required")
    check_id(value, name)


def check_size(*records: RunRecord | None, data: bytes = b"") -> None:
    """Check that all payloads of the command, a checkpoint included, hold together (contract 0)."""
    size = len(data)
    for record in records:
        if record is not None:
            size += len(record.payload)
    if size > MAX_COMMAND_PAYLOAD_BYTES:
        raise fail("payload_too_large", _TOO_LARGE)


def check_json(payload: bytes) -> None:
    """Let the payload through the strict JSON gate; the error's code is the gate's rule."""
    rule = ""
    try:
        strictjson.check(payload)
    except strictjson.StrictJsonError as refused:
        rule = refused.rule
    if rule:  # raised here, so that the payload does not hang on the error as its context
        raise fail(rule, "payload does not pass the strict JSON gate")
