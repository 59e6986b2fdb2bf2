"""Commands as Avro data and back: one pair of functions for each shape of operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from runlane.contract import commands as c
from runlane.contract.codec.values import (
    get_receipt,
    get_record,
    get_start,
    optional_instant,
    optional_micros,
    put_receipt,
    put_record,
    put_start,
    status_of,
)
from runlane.contract.values import RunRecord, RunStatus, RunSuspension

Fields = dict[str, Any]
Branch = tuple[str, Fields]


def put_command(command: c.Command) -> Branch:
    """Return ``command`` as a branch of the union of operations."""
    kind = type(command)
    return _FULL_NAMES[kind], _PUT[kind](command)


def get_command(branch: Branch) -> c.Command:
    """Return the command of a union branch."""
    return _GET[branch[0]](branch[1])


def _put_claim(command: c.ClaimRun) -> Fields:
    return {"run_id": command.run_id, "lane": command.lane}


def _get_claim(fields: Fields) -> c.ClaimRun:
    return c.ClaimRun(fields["run_id"], fields["lane"])


def _optional_receipt(receipt: c.ClaimReceipt | None) -> Branch | None:
    return None if receipt is None else ("runlane.ClaimReceipt", put_receipt(receipt))


def _receipt(branch: Branch | None) -> c.ClaimReceipt | None:
    return None if branch is None else get_receipt(branch[1])


def _put_root(command: c.StartRootRun) -> Fields:
    return {
        "run": put_start(command.run),
        "started": put_record(command.started),
        "canceled": put_record(command.canceled),
        "receipt": _optional_receipt(command.receipt),
    }


def _get_root(fields: Fields) -> c.StartRootRun:
    return c.StartRootRun(
        run=get_start(fields["run"]),
        started=get_record(fields["started"]),
        canceled=get_record(fields["canceled"]),
        receipt=_receipt(fields["receipt"]),
    )


def _put_child(command: c.StartChildRun) -> Fields:
    return {
        "run": put_start(command.run),
        "parent_linked": put_record(command.parent_linked),
        "started": put_record(command.started),
        "canceled": put_record(command.canceled),
        "receipt": _optional_receipt(command.receipt),
    }


def _get_child(fields: Fields) -> c.StartChildRun:
    return c.StartChildRun(
        run=get_start(fields["run"]),
        parent_linked=get_record(fields["parent_linked"]),
        started=get_record(fields["started"]),
        canceled=get_record(fields["canceled"]),
        receipt=_receipt(fields["receipt"]),
    )


def _put_one_shot(command: c.StartOneShotRun) -> Fields:
    return {"run": put_start(command.run), "started": put_record(command.started)}


def _get_one_shot(fields: Fields) -> c.StartOneShotRun:
    return c.StartOneShotRun(get_start(fields["run"]), get_record(fields["started"]))


def _put_one_shot_child(command: c.StartOneShotChildRun) -> Fields:
    return {
        "run": put_start(command.run),
        "parent_linked": put_record(command.parent_linked),
        "started": put_record(command.started),
        "receipt": _optional_receipt(command.receipt),
    }


def _get_one_shot_child(fields: Fields) -> c.StartOneShotChildRun:
    return c.StartOneShotChildRun(
        run=get_start(fields["run"]),
        parent_linked=get_record(fields["parent_linked"]),
        started=get_record(fields["started"]),
        receipt=_receipt(fields["receipt"]),
    )


def _put_append(command: c.AppendRunRecord) -> Fields:
    return {"record": put_record(command.record), "after_key": command.after_key}


def _get_append(fields: Fields) -> c.AppendRunRecord:
    return c.AppendRunRecord(get_record(fields["record"]), fields["after_key"])


def _put_cancellation(command: c.RecordRunCancellation) -> Fields:
    return {"run_id": command.run_id, "reason": command.reason, "record": put_record(command.record)}


def _get_cancellation(fields: Fields) -> c.RecordRunCancellation:
    return c.RecordRunCancellation(fields["run_id"], fields["reason"], get_record(fields["record"]))


def _put_suspension(command: c.RecordRunSuspension | c.EnsureRunSuspension) -> Fields:
    return {
        "run_id": command.run_id,
        "suspension": {"id": command.suspension.id, "data": command.suspension.data},
        "record": put_record(command.record),
    }


def _suspension(fields: Fields) -> tuple[str, RunSuspension, RunRecord | None]:
    suspension = fields["suspension"]
    return fields["run_id"], RunSuspension(suspension["id"], suspension["data"]), get_record(fields["record"])


def _put_terminal(command: c.RecordRunTerminal | c.EnsureRunTerminal) -> Fields:
    return {"run_id": command.run_id, "status": str(command.status), "record": put_record(command.record)}


def _terminal(fields: Fields) -> tuple[str, RunStatus | str, RunRecord | None]:
    return fields["run_id"], status_of(fields["status"]), get_record(fields["record"])


def _put_session(command: c.CreateSession | c.EndSession) -> Fields:
    return {"session_id": command.session_id, "at": optional_micros(command.at)}


_PUT: Final[dict[type[c.Command], Callable[[Any], Fields]]] = {
    c.ClaimRun: _put_claim,
    c.StartRootRun: _put_root,
    c.StartChildRun: _put_child,
    c.StartOneShotRun: _put_one_shot,
    c.StartOneShotChildRun: _put_one_shot_child,
    c.AppendRunRecord: _put_append,
    c.RecordRunCancellation: _put_cancellation,
    c.RecordRunSuspension: _put_suspension,
    c.RecordRunTerminal: _put_terminal,
    c.EnsureRunTerminal: _put_terminal,
    c.EnsureRunSuspension: _put_suspension,
    c.CreateSession: _put_session,
    c.EndSession: _put_session,
    c.PurgeSession: lambda command: {"session_id": command.session_id},
}

_FULL_NAMES: Final = {kind: f"runlane.{kind.__name__}" for kind in _PUT}

_GET: Final[dict[str, Callable[[Fields], c.Command]]] = {
    "runlane.ClaimRun": _get_claim,
    "runlane.StartRootRun": _get_root,
    "runlane.StartChildRun": _get_child,
    "runlane.StartOneShotRun": _get_one_shot,
    "runlane.StartOneShotChildRun": _get_one_shot_child,
    "runlane.AppendRunRecord": _get_append,
    "runlane.RecordRunCancellation": _get_cancellation,
    "runlane.RecordRunSuspension": lambda fields: c.RecordRunSuspension(*_suspension(fields)),
    "runlane.RecordRunTerminal": lambda fields: c.RecordRunTerminal(*_terminal(fields)),
    "runlane.EnsureRunTerminal": lambda fields: c.EnsureRunTerminal(*_terminal(fields)),
    "runlane.EnsureRunSuspension": lambda fields: c.EnsureRunSuspension(*_suspension(fields)),
    "runlane.CreateSession": lambda fields: c.CreateSession(
        fields["session_id"], optional_instant(fields["at"])
    ),
    "runlane.EndSession": lambda fields: c.EndSession(fields["session_id"], optional_instant(fields["at"])),
    "runlane.PurgeSession": lambda fields: c.PurgeSession(fields["session_id"]),
}
