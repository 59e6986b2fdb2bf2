"""Bodies of the read API, shared by the gateway and the client's HTTP reader (design, Reading).

A payload travels as a JSON string that holds the exact original text; a checkpoint as base64. An id in a path
is one percent-encoded segment (`path_segment`).
"""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Annotated, Literal, Self
from urllib.parse import quote, unquote

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from runlane.contract.errors import ErrorInfo, InvalidCommand
from runlane.contract.memory import MemoryPage, decode_event, encode_event
from runlane.contract.reader import RunPage, SessionPage
from runlane.contract.values import (
    CommittedRecord,
    Page,
    RunMeta,
    RunStatus,
    RunSuspension,
    Session,
    SessionStatus,
    StartOutcome,
)

PROBLEM_MEDIA_TYPE = "application/problem+json"
PROBLEM_TYPE_PREFIX = "urn:runlane:error:"
_ESCAPE = "~"
_TAKEN_SEGMENTS = (".", "..", "stream")


def path_segment(identifier: str) -> str:
    """Return ``identifier`` as one path segment: UTF-8, percent-encoded, "/" too.

    URL software drops the segments "." and ".." even when they are percent-encoded, and "stream" is that of
    all runs, so these ids, and ids that start with "~", get a "~" in front. The empty id, which some reads
    answer too (C248), is "~".
    """
    if not identifier or identifier in _TAKEN_SEGMENTS or identifier.startswith(_ESCAPE):
        identifier = _ESCAPE + identifier
    return quote(identifier, safe="")


def from_path_segment(segment: str) -> str:
    """Return the identifier of a still encoded path segment; ``InvalidCommand`` when it is no UTF-8."""
    try:
        identifier = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise InvalidCommand("the path holds bytes that are no UTF-8", code="id_not_unicode") from None
    return identifier.removeprefix(_ESCAPE)


class _Body(BaseModel):
    # A field that a newer gateway adds must not break an older client.
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class RunBody(_Body):
    """A run (contract 1.5)."""

    run_id: str
    agent_id: str
    session_id: Annotated[str, Field(description="empty for a sessionless run")]
    parent_run_id: Annotated[str, Field(description="empty for a root run")]
    status: RunStatus
    start_outcome: StartOutcome
    started_at: datetime
    updated_at: datetime
    labels: dict[str, str]
    cancellation_reason: str

    @classmethod
    def of(cls, run: RunMeta) -> Self:
        """Return the body of ``run``."""
        return cls(
            run_id=run.run_id,
            agent_id=run.agent_id,
            session_id=run.session_id,
            parent_run_id=run.parent_run_id,
            status=run.status,
            start_outcome=run.start_outcome,
            started_at=run.started_at,
            updated_at=run.updated_at,
            labels=dict(run.labels),
            cancellation_reason=run.cancellation_reason,
        )

    def value(self) -> RunMeta:
        """Return the run that the body describes."""
        return RunMeta(**dict(self))


class RunsBody(_Body):
    """All runs of a session that match, in any order."""

    runs: list[RunBody]


class RunPageBody(_Body):
    """A page of a search, newest first; ``as_of`` is the commit time that the search reflects."""

    runs: list[RunBody]
    next_cursor: Annotated[str, Field(description="empty on the last page")]
    as_of: datetime | None

    @classmethod
    def of(cls, page: RunPage) -> Self:
        """Return the body of ``page``."""
        return cls(
            runs=[RunBody.of(run) for run in page.runs], next_cursor=page.next_cursor, as_of=page.as_of
        )

    def value(self) -> RunPage:
        """Return the page that the body describes."""
        return RunPage(tuple(run.value() for run in self.runs), self.next_cursor, self.as_of)


class SuspensionBody(_Body):
    """A checkpoint (contract 1.6); ``data`` is base64."""

    id: str
    data: str

    @classmethod
    def of(cls, suspension: RunSuspension) -> Self:
        """Return the body of ``suspension``."""
        return cls(id=suspension.id, data=base64.b64encode(suspension.data).decode())

    def value(self) -> RunSuspension:
        """Return the checkpoint with its exact bytes; ``ValueError`` when ``data`` is no base64."""
        return RunSuspension(self.id, base64.b64decode(self.data, validate=True))


class SessionBody(_Body):
    """A session (contract 1.2)."""

    id: str
    status: SessionStatus
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, session: Session) -> Self:
        """Return the body of ``session``."""
        return cls(
            id=session.id,
            status=session.status,
            created_at=session.created_at,
            ended_at=session.ended_at,
        )

    def value(self) -> Session:
        """Return the session that the body describes."""
        return Session(self.id, self.status, self.created_at, self.ended_at)


class SessionStatusBody(_Body):
    """The state of a session alone."""

    status: SessionStatus


class SessionPageBody(_Body):
    """A page of sessions by id."""

    sessions: list[SessionBody]
    next_cursor: Annotated[str, Field(description="empty on the last page")]

    @classmethod
    def of(cls, page: SessionPage) -> Self:
        """Return the body of ``page``."""
        return cls(
            sessions=[SessionBody.of(session) for session in page.sessions], next_cursor=page.next_cursor
        )

    def value(self) -> SessionPage:
        """Return the page that the body describes."""
        return SessionPage(tuple(session.value() for session in self.sessions), self.next_cursor)


class RecordBody(_Body):
    """A committed record; ``payload`` is the exact original JSON text."""

    lane: str
    lane_seq: int
    seq: Annotated[int, Field(description="gapless per run; the record's id; 0 for an event of the session")]
    run_id: str
    agent_id: str
    session_id: str
    turn_id: str
    event_key: str
    type: str
    payload: str
    timestamp: datetime
    committed_at: datetime
    session_status: SessionStatus
    partition: int
    block: int

    @classmethod
    def of(cls, record: CommittedRecord) -> Self:
        """Return the body of ``record``."""
        return cls(
            lane=record.lane,
            lane_seq=record.lane_seq,
            seq=record.seq,
            run_id=record.run_id,
            agent_id=record.agent_id,
            session_id=record.session_id,
            turn_id=record.turn_id,
            event_key=record.event_key,
            type=record.type,
            payload=record.payload.decode(),
            timestamp=record.timestamp,
            committed_at=record.committed_at,
            session_status=record.session_status,
            partition=record.partition,
            block=record.block,
        )

    def value(self) -> CommittedRecord:
        """Return the record with its exact payload bytes."""
        return CommittedRecord(
            lane=self.lane,
            lane_seq=self.lane_seq,
            seq=self.seq,
            run_id=self.run_id,
            agent_id=self.agent_id,
            session_id=self.session_id,
            turn_id=self.turn_id,
            event_key=self.event_key,
            type=self.type,
            payload=self.payload.encode(),
            timestamp=self.timestamp,
            committed_at=self.committed_at,
            session_status=self.session_status,
            partition=self.partition,
            block=self.block,
        )


class RecordPageBody(_Body):
    """A page of records, oldest first (contract 1.7)."""

    records: list[RecordBody]
    next_cursor: Annotated[str, Field(description="empty exactly when no further record existed")]

    @classmethod
    def of(cls, page: Page) -> Self:
        """Return the body of ``page``."""
        return cls(records=[RecordBody.of(record) for record in page.records], next_cursor=page.next_cursor)

    def value(self) -> Page:
        """Return the page that the body describes."""
        return Page(tuple(record.value() for record in self.records), self.next_cursor)


class NewSessionBody(BaseModel):
    """A session to be created; ``at`` is now unless given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(max_length=256)]
    at: AwareDatetime | None = None


class EndSessionBody(BaseModel):
    """When a session ends: now unless given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: AwareDatetime | None = None


class PurgedBody(_Body):
    """A session that is gone; its id is reserved for ever."""

    session_id: str


class AccessBody(_Body):
    """How this gateway lets people in: `open` needs no token, which it does on loopback only."""

    mode: Literal["open", "token"]


class TicketBody(_Body):
    """A ticket for one connect of a stream, as `?ticket=`, within so many seconds."""

    ticket: str
    expires_in: int


class MemoryBody(_Body):
    """A page of what a run remembers, oldest first; each event is the exact JSON text that was stored."""

    events: list[str]
    next_cursor: Annotated[str, Field(description="empty on the last page")]
    deleted: Annotated[int, Field(description="changes when the run's memory is deleted: begin again then")]

    @classmethod
    def of(cls, page: MemoryPage) -> Self:
        """Return the body of ``page``."""
        return cls(
            events=[encode_event(event).decode() for event in page.events],
            next_cursor=page.next_cursor,
            deleted=page.deleted,
        )

    def value(self) -> MemoryPage:
        """Return the page that the body describes; ``InvalidCommand`` for events that are none."""
        return MemoryPage(
            tuple(decode_event(event.encode()) for event in self.events), self.next_cursor, self.deleted
        )


class Problem(_Body):
    """An error as RFC 9457 problem details; ``code`` and ``name`` are the contract's (contract 0, 1.13)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    name: str
    retryable: bool
    details: dict[str, str]

    @classmethod
    def of(cls, info: ErrorInfo, status: int) -> Self:
        """Return ``info`` as the body of an answer with ``status``."""
        return cls(
            type=PROBLEM_TYPE_PREFIX + info.code,
            title=info.name,
            status=status,
            detail=info.message,
            code=info.code,
            name=info.name,
            retryable=info.retryable,
            details=dict(info.details),
        )

    def info(self) -> ErrorInfo:
        """Return the error for ``runlane.contract.errors.from_info``."""
        return ErrorInfo(self.name, self.code, self.detail, self.retryable, tuple(self.details.items()))
