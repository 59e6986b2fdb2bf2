"""Outcomes and committed records as Avro data and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from runlane.contract import outcomes as o
from runlane.contract.codec.values import (
    get_receipt,
    instant,
    micros,
    optional_instant,
    optional_micros,
    put_receipt,
)
from runlane.contract.errors import ErrorInfo
from runlane.contract.values import CommittedRecord, RunStatus, Session, SessionStatus, StartOutcome

Fields = dict[str, Any]
Branch = tuple[str, Fields]


def put_outcome(outcome: o.Outcome) -> Fields:
    """Return ``outcome`` as fields."""
    result, error = outcome.result, outcome.error
    return {
        "correlation_id": outcome.correlation_id,
        "partition": outcome.partition,
        "position": outcome.position,
        "block": outcome.block,
        "result": None if result is None else (_FULL_NAMES[type(result)], _PUT[type(result)](result)),
        "error": None if error is None else ("runlane.ErrorInfo", _put_error(error)),
    }


def get_outcome(fields: Fields) -> o.Outcome:
    """Return the outcome of ``fields``; ``ValueError`` unless it is either a result or an error."""
    result, error = fields["result"], fields["error"]
    if (result is None) == (error is None):
        raise ValueError("an outcome is either a result or an error")
    return o.Outcome(
        correlation_id=fields["correlation_id"],
        partition=fields["partition"],
        position=fields["position"],
        block=fields["block"],
        result=None if result is None else _GET[result[0]](result[1]),
        error=None if error is None else _get_error(error[1]),
    )


def put_committed(record: CommittedRecord) -> Fields:
    """Return a committed record as fields."""
    return {
        "lane": record.lane,
        "lane_seq": record.lane_seq,
        "seq": record.seq,
        "run_id": record.run_id,
        "agent_id": record.agent_id,
        "session_id": record.session_id,
        "turn_id": record.turn_id,
        "event_key": record.event_key,
        "type": record.type,
        "payload": record.payload,
        "timestamp": micros(record.timestamp),
        "committed_at": micros(record.committed_at),
        "session_status": record.session_status,
        "partition": record.partition,
        "block": record.block,
    }


def get_committed(fields: Fields) -> CommittedRecord:
    """Return the committed record of ``fields``."""
    return CommittedRecord(
        fields["lane"],
        fields["lane_seq"],
        fields["seq"],
        fields["run_id"],
        fields["agent_id"],
        fields["session_id"],
        fields["turn_id"],
        fields["event_key"],
        fields["type"],
        fields["payload"],
        instant(fields["timestamp"]),
        instant(fields["committed_at"]),
        SessionStatus(fields["session_status"]),
        fields["partition"],
        fields["block"],
    )


def _put_error(error: ErrorInfo) -> Fields:
    return {
        "name": error.name,
        "code": error.code,
        "message": error.message,
        "retryable": error.retryable,
        "details": [{"name": name, "value": value} for name, value in error.details],
    }


def _get_error(fields: Fields) -> ErrorInfo:
    details = tuple((detail["name"], detail["value"]) for detail in fields["details"])
    return ErrorInfo(fields["name"], fields["code"], fields["message"], fields["retryable"], details)


def _put_append(result: o.AppendResult) -> Fields:
    return {"id": result.id, "inserted": result.inserted, "session_status": result.session_status}


def _get_append(fields: Fields) -> o.AppendResult:
    return o.AppendResult(fields["id"], fields["inserted"], SessionStatus(fields["session_status"]))


def _put_root(result: o.RootRunStartResult) -> Fields:
    return {
        "outcome": result.outcome,
        "started": _put_append(result.started),
        "canceled": _put_append(result.canceled),
    }


def _get_root(fields: Fields) -> o.RootRunStartResult:
    return o.RootRunStartResult(
        outcome=StartOutcome(fields["outcome"]),
        started=_get_append(fields["started"]),
        canceled=_get_append(fields["canceled"]),
    )


def _put_child(result: o.ChildRunStartResult) -> Fields:
    return {
        "outcome": result.outcome,
        "parent_record": _put_append(result.parent_record),
        "started": _put_append(result.started),
        "canceled": _put_append(result.canceled),
    }


def _get_child(fields: Fields) -> o.ChildRunStartResult:
    return o.ChildRunStartResult(
        outcome=StartOutcome(fields["outcome"]),
        parent_record=_get_append(fields["parent_record"]),
        started=_get_append(fields["started"]),
        canceled=_get_append(fields["canceled"]),
    )


def _put_one_shot_child(result: o.OneShotChildRunStartResult) -> Fields:
    return {"parent_record": _put_append(result.parent_record), "started": _put_append(result.started)}


def _get_one_shot_child(fields: Fields) -> o.OneShotChildRunStartResult:
    return o.OneShotChildRunStartResult(_get_append(fields["parent_record"]), _get_append(fields["started"]))


def _put_repair(result: o.RunRepairResult) -> Fields:
    return {"outcome": result.outcome, "status": result.status, "record": _put_append(result.record)}


def _get_repair(fields: Fields) -> o.RunRepairResult:
    return o.RunRepairResult(
        outcome=o.RepairOutcome(fields["outcome"]),
        status=RunStatus(fields["status"]),
        record=_get_append(fields["record"]),
    )


def _put_session(result: o.SessionResult) -> Fields:
    session = result.session
    fields = {
        "id": session.id,
        "status": session.status,
        "created_at": micros(session.created_at),
        "ended_at": optional_micros(session.ended_at),
    }
    return {"session": fields}


def _get_session(fields: Fields) -> o.SessionResult:
    session = fields["session"]
    return o.SessionResult(
        Session(
            id=session["id"],
            status=SessionStatus(session["status"]),
            created_at=instant(session["created_at"]),
            ended_at=optional_instant(session["ended_at"]),
        )
    )


def _put_claim(result: o.ClaimResult) -> Fields:
    return {"receipt": put_receipt(result.receipt), "inserted": result.inserted}


def _get_claim(fields: Fields) -> o.ClaimResult:
    return o.ClaimResult(get_receipt(fields["receipt"]), fields["inserted"])


_PUT: Final[dict[type[o.Result], Callable[[Any], Fields]]] = {
    o.AppendResult: _put_append,
    o.RootRunStartResult: _put_root,
    o.ChildRunStartResult: _put_child,
    o.OneShotRunStartResult: lambda result: {"record": _put_append(result.record)},
    o.OneShotChildRunStartResult: _put_one_shot_child,
    o.RunRepairResult: _put_repair,
    o.SessionResult: _put_session,
    o.PurgeResult: lambda result: {"session_id": result.session_id},
    o.ClaimResult: _put_claim,
}

_FULL_NAMES: Final = {kind: f"runlane.{kind.__name__}" for kind in _PUT}

_GET: Final[dict[str, Callable[[Fields], o.Result]]] = {
    "runlane.AppendResult": _get_append,
    "runlane.RootRunStartResult": _get_root,
    "runlane.ChildRunStartResult": _get_child,
    "runlane.OneShotRunStartResult": lambda fields: o.OneShotRunStartResult(_get_append(fields["record"])),
    "runlane.OneShotChildRunStartResult": _get_one_shot_child,
    "runlane.RunRepairResult": _get_repair,
    "runlane.SessionResult": _get_session,
    "runlane.PurgeResult": lambda fields: o.PurgeResult(fields["session_id"]),
    "runlane.ClaimResult": _get_claim,
}
