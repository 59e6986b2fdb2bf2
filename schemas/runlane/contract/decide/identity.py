"""The state of a new run, and whether a start names the same run again (contract 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from runlane.contract.payloads import SESSION_ENDED_REASON
from runlane.contract.state import RunState
from runlane.contract.times import micros, to_utc
from runlane.contract.values import NO_LABELS, RunRecord, RunStart, RunStatus, StartOutcome


def started_at(run: RunStart) -> datetime:
    """Return the start's time in UTC; the start was validated."""
    assert run.started_at is not None, "the start was validated"
    return to_utc(run.started_at)


def same_start(stored: RunState, run: RunStart) -> bool:
    """Whether a start has the stored run's identity; a predecessor shows only in a payload (contract 2.1)."""
    return (
        stored.agent_id == run.agent_id
        and stored.session_id == run.session_id
        and stored.parent_run_id == run.parent_run_id
        and micros(stored.started_at) == micros(started_at(run))
        and dict(stored.labels) == dict(run.labels)
    )


def new_run(
    run: RunStart,
    now: datetime,
    started: RunRecord,
    *,
    link: RunRecord | None = None,
    canceled: RunRecord | None = None,
) -> RunState:
    """Return the state of a run that starts now; with ``canceled`` it is stopped at its start."""
    return RunState(
        run_id=run.run_id,
        agent_id=run.agent_id,
        session_id=run.session_id,
        parent_run_id=run.parent_run_id,
        status=RunStatus.RUNNING if canceled is None else RunStatus.CANCELED,
        start_outcome=StartOutcome.PROCEED if canceled is None else StartOutcome.STOP,
        started_at=started_at(run),
        updated_at=now,
        labels=_copied(run.labels),
        cancellation_reason="" if canceled is None else SESSION_ENDED_REASON,
        start_key=started.event_key,
        link_key="" if link is None else link.event_key,
        cancellation_key="",
        suspension_key="",
        terminal_key="" if canceled is None else canceled.event_key,
        suspension_id="",
        checkpoint_digest=b"",
    )


def _copied(labels: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(labels)) if labels else NO_LABELS
