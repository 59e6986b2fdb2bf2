"""The values that several messages share, as Avro data and back.

Times are microseconds since the epoch. A record inside a union is a pair of its full name and its fields:
otherwise fastavro guesses the branch.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from runlane.contract.commands import ClaimReceipt
from runlane.contract.values import NO_LABELS, RunRecord, RunStart, RunStatus

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_PER_DAY: Final = 86_400
_MICROS: Final = 1_000_000
_STATUSES: Final = {status.value: status for status in RunStatus}


def micros(time: datetime) -> int:
    """Return an aware instant as microseconds since the epoch, exactly; ``TypeError`` for a naive one."""
    since = time - EPOCH
    return (since.days * _SECONDS_PER_DAY + since.seconds) * _MICROS + since.microseconds


def instant(value: int) -> datetime:
    """Return the UTC instant of ``value``; ``OverflowError`` outside the years 1 to 9999."""
    return EPOCH + timedelta(microseconds=value)


def optional_micros(time: datetime | None) -> tuple[str, int] | None:
    """Return an optional instant as a branch of the union of null and long."""
    return None if time is None else ("long", micros(time))


def optional_instant(value: int | None) -> datetime | None:
    """Return the optional UTC instant of ``value``."""
    return None if value is None else instant(value)


def put_record(record: RunRecord | None) -> tuple[str, dict[str, Any]] | None:
    """Return an optional record as a union branch."""
    if record is None:
        return None
    return "runlane.RunRecord", {
        "event_key": record.event_key,
        "run_id": record.run_id,
        "agent_id": record.agent_id,
        "session_id": record.session_id,
        "turn_id": record.turn_id,
        "type": record.type,
        "payload": record.payload,
        "timestamp": optional_micros(record.timestamp),
    }


def get_record(branch: tuple[str, dict[str, Any]] | None) -> RunRecord | None:
    """Return the optional record of a union branch."""
    if branch is None:
        return None
    fields = branch[1]
    return RunRecord(
        fields["event_key"],
        fields["run_id"],
        fields["agent_id"],
        fields["session_id"],
        fields["turn_id"],
        fields["type"],
        fields["payload"],
        optional_instant(fields["timestamp"]),
    )


def put_start(run: RunStart) -> dict[str, Any]:
    """Return a run's identity as fields."""
    return {
        "run_id": run.run_id,
        "agent_id": run.agent_id,
        "session_id": run.session_id,
        "parent_run_id": run.parent_run_id,
        "predecessor_run_id": run.predecessor_run_id,
        "started_at": optional_micros(run.started_at),
        "labels": dict(run.labels),
    }


def get_start(fields: dict[str, Any]) -> RunStart:
    """Return the run's identity of ``fields``."""
    labels = fields["labels"]
    return RunStart(
        run_id=fields["run_id"],
        agent_id=fields["agent_id"],
        session_id=fields["session_id"],
        parent_run_id=fields["parent_run_id"],
        predecessor_run_id=fields["predecessor_run_id"],
        started_at=optional_instant(fields["started_at"]),
        labels=MappingProxyType(labels) if labels else NO_LABELS,
    )


def put_receipt(receipt: ClaimReceipt) -> dict[str, Any]:
    """Return a claim receipt as fields."""
    return {
        "run_id": receipt.run_id,
        "lane": receipt.lane,
        "partition": receipt.partition,
        "block": receipt.block,
        "key_id": receipt.key_id,
        "mac": receipt.mac,
    }


def get_receipt(fields: dict[str, Any]) -> ClaimReceipt:
    """Return the claim receipt of ``fields``."""
    return ClaimReceipt(
        run_id=fields["run_id"],
        lane=fields["lane"],
        partition=fields["partition"],
        block=fields["block"],
        key_id=fields["key_id"],
        mac=fields["mac"],
    )


def status_of(text: str) -> RunStatus | str:
    """Return the run status that ``text`` names, or ``text`` itself, which validation refuses."""
    return _STATUSES.get(text, text)
