"""Committed records for the tests of the stream."""

from __future__ import annotations

from datetime import UTC, datetime

from runlane.contract.values import CommittedRecord, SessionStatus

T0 = datetime(2025, 8, 24, 1, 46, 40, 123_000, tzinfo=UTC)


def committed(
    record_type: str,
    payload: str | bytes,
    *,
    key: str = "key-1",
    session: str = "sess-1",
    status: SessionStatus = SessionStatus.ACTIVE,
    run: str = "run-1",
) -> CommittedRecord:
    """A record of a run, as it was committed."""
    return CommittedRecord(
        lane=f"s/{session}" if session else f"r/{run}",
        lane_seq=1,
        seq=1,
        run_id=run,
        agent_id="svc.agent",
        session_id=session,
        turn_id="",
        event_key=key,
        type=record_type,
        payload=payload if isinstance(payload, bytes) else payload.encode(),
        timestamp=T0,
        committed_at=T0,
        session_status=status,
        partition=0,
        block=0,
    )
