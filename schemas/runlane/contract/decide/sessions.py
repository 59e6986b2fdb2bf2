"""The host's commands on a session, and the lane events that they leave (contract 5)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

from runlane.contract.commands import CreateSession, EndSession, HostCommand, PurgeSession
from runlane.contract.decide.decision import Decision, Meta
from runlane.contract.errors import (
    NotPermitted,
    SessionActive,
    SessionEnded,
    SessionHasActiveRuns,
    SessionNotFound,
    SessionPurged,
    WrongLane,
)
from runlane.contract.ids import session_lane
from runlane.contract.outcomes import PurgeResult, SessionResult
from runlane.contract.payloads import SESSION_CREATED, SESSION_ENDED, SESSION_PURGED
from runlane.contract.state import Changes, LaneView, SessionState
from runlane.contract.times import to_utc
from runlane.contract.validate.commands import validate_before_send
from runlane.contract.values import CommittedRecord, Session, SessionStatus


def create_session(view: LaneView, command: CreateSession, meta: Meta) -> Decision:
    """Create a session, or return the active one unchanged."""
    _check(view, command, meta)
    state = view.session
    if state is not None:
        session = _not_purged(state)
        if session.status is SessionStatus.ENDED:
            raise SessionEnded("the session has ended")
        return Decision(SessionResult(session), None)
    assert command.at is not None, "the command was validated"
    session = Session(command.session_id, SessionStatus.ACTIVE, to_utc(command.at))
    return _decided(view, session, SESSION_CREATED, session.created_at, meta)


def end_session(view: LaneView, command: EndSession, meta: Meta) -> Decision:
    """End a session, or return the ended one unchanged; its runs go on."""
    _check(view, command, meta)
    session = _existing(view)
    if session.status is SessionStatus.ENDED:
        return Decision(SessionResult(session), None)
    assert command.at is not None, "the command was validated"
    at = to_utc(command.at)
    session = replace(session, status=SessionStatus.ENDED, ended_at=at)
    return _decided(view, session, SESSION_ENDED, at, meta)


def purge_session(view: LaneView, command: PurgeSession, meta: Meta) -> Decision:
    """Drop an ended session with all its runs for ever; a second purge changes nothing."""
    _check(view, command, meta)
    result = PurgeResult(command.session_id)
    state = view.session
    if state is not None and state.purged:
        return Decision(result, None)
    if _existing(view).status is SessionStatus.ACTIVE:
        raise SessionActive("an active session can't be purged")
    if any(not run.status.terminal for run in view.runs()):
        raise SessionHasActiveRuns("the session has running runs")
    event = _event(
        view, meta, command.session_id, kind=SESSION_PURGED, status=SessionStatus.NONE, at=meta.now
    )
    tombstone = SessionState(command.session_id, None, True)
    return Decision(result, None, Changes(records=(event,), session=tombstone, purged=True))


def _check(view: LaneView, command: HostCommand, meta: Meta) -> None:
    if not meta.host_authorized:
        raise NotPermitted("a host command needs a true host signature")
    validate_before_send(command)
    home = session_lane(command.session_id)
    if view.lane != home:
        raise WrongLane("the session lives in another lane", lane=home)


def _existing(view: LaneView) -> Session:
    state = view.session
    if state is None:
        raise SessionNotFound("the session is unknown")
    return _not_purged(state)


def _not_purged(state: SessionState) -> Session:
    if state.session is None:
        raise SessionPurged("the session was purged")
    return state.session


def _decided(view: LaneView, session: Session, kind: str, at: datetime, meta: Meta) -> Decision:
    event = _event(view, meta, session.id, kind=kind, status=session.status, at=at)
    state = SessionState(session.id, session, False)
    return Decision(SessionResult(session), None, Changes(records=(event,), session=state))


def _event(
    view: LaneView, meta: Meta, session_id: str, *, kind: str, status: SessionStatus, at: datetime
) -> CommittedRecord:
    payload = json.dumps({"session_id": session_id, "at": at.isoformat()}, ensure_ascii=False)
    return CommittedRecord(
        lane=view.lane,
        lane_seq=view.next_lane_seq,
        seq=0,
        run_id="",
        agent_id="",
        session_id=session_id,
        turn_id="",
        event_key=kind,
        type=kind,
        payload=payload.encode(),
        timestamp=at,
        committed_at=meta.now,
        session_status=status,
        partition=meta.partition,
        block=meta.block,
    )
