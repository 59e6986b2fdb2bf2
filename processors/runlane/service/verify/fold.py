"""States as this verifier folds them out of a lane's records (G9), apart from `decide`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from runlane.service.verify.rows import Row, json_object

STARTED: Final = "run_started"
LINKED: Final = "child_run_linked"
INTENT: Final = "runtime.cancellation_intent"
SUSPENDED: Final = "run_suspended"
COMPLETED: Final = "run_completed"
LIFECYCLE: Final = (STARTED, LINKED, INTENT, SUSPENDED, COMPLETED)
_STATUSES: Final = {"success": "completed", "failed": "failed", "canceled": "canceled"}


class FoldError(ValueError):
    """A record that cannot stand where it is; the text says why and holds no payload."""


@dataclass(slots=True)
class Run:
    """A run's state; times are microseconds, the digest is that of its checkpoint, in hex."""

    agent_id: str
    session_id: str
    parent_run_id: str
    status: str
    start_outcome: str
    started_at: int
    updated_at: int
    labels: Mapping[str, Any]
    start_key: str
    link_key: str
    cancellation_reason: str = ""
    cancellation_key: str = ""
    suspension_key: str = ""
    terminal_key: str = ""
    suspension_id: str = ""
    checkpoint_digest: str = ""


@dataclass(slots=True)
class Session:
    """A session's state; times are microseconds, ``ended`` is a text, empty while it is active."""

    status: str
    created_at: int
    ended: str = ""


@dataclass(slots=True)
class LaneState:
    """A lane, folded so far. ``links`` wait for the start of the child that they name."""

    session: Session | None = None
    runs: dict[str, Run] = field(default_factory=dict[str, Run])
    links: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    @property
    def status(self) -> str:
        """The session's state, empty without one."""
        return self.session.status if self.session else ""

    def fold(self, row: Row) -> str:
        """Apply a record; return the id of the run that it changed, or an empty string. ``FoldError``."""
        if not row.run_id:
            self._session_event(row)
            return ""
        if row.type == STARTED:
            self._start(row)
            return row.run_id
        run = self.runs.get(row.run_id)
        if run is None:
            raise FoldError("a record of a run that did not start here")
        stopped = run.start_outcome == "stop" and not run.terminal_key
        if run.status != "running" and not (stopped and row.type == COMPLETED):
            raise FoldError("a record of a run that has stopped")
        if (row.agent_id, row.session_id) != (run.agent_id, run.session_id):
            raise FoldError("a record of another agent or session than the run's")
        return row.run_id if self._change(run, row) else ""

    def stated_run(self, row: Row) -> Run:
        """Return the state that a run row states; ``ValueError`` when it is not readable."""
        rest = json_object(row.body)
        return Run(
            agent_id=row.agent_id,
            session_id=row.session_id,
            parent_run_id=row.parent_run_id,
            status=row.status,
            started_at=row.at,
            labels=json_object(row.labels),
            cancellation_reason=row.reason,
            checkpoint_digest=row.digest,
            **rest,
        )

    def _session_event(self, row: Row) -> None:
        match row.type:
            case "session_created" if self.session is None:
                self.session = Session("active", row.at)
            case "session_ended" if self.session is not None and self.session.status == "active":
                self.session.status, self.session.ended = "ended", str(row.at)
            case _:
                raise FoldError("an event that the session's state forbids")

    def _start(self, row: Row) -> None:
        if row.run_id in self.runs:
            raise FoldError("a run that starts twice")
        if row.lane.startswith("s/") and self.session is None:
            raise FoldError("a start in a session that was never created")
        payload = json_object(row.body)
        parent = payload.get("parent_run_id", "")
        link = self.links.pop(row.run_id, ("", ""))
        if link[0] != parent:
            raise FoldError("a child that its parent does not link, or a link without a child")
        stopped = self.status == "ended"
        self.runs[row.run_id] = Run(
            agent_id=row.agent_id,
            session_id=row.session_id,
            parent_run_id=parent,
            status="canceled" if stopped else "running",
            start_outcome="stop" if stopped else "proceed",
            started_at=row.at,
            updated_at=row.time,
            labels=payload.get("labels", {}),
            start_key=row.event_key,
            link_key=link[1],
            cancellation_reason="session_ended" if stopped else "",
        )

    def _change(self, run: Run, row: Row) -> bool:
        if row.type not in LIFECYCLE:
            return False
        payload = json_object(row.body)
        if row.type == LINKED:
            self.links[str(payload.get("ChildRunID"))] = (row.run_id, row.event_key)
            return False
        run.updated_at = row.time
        if row.type == INTENT:
            if run.cancellation_key:
                raise FoldError("a second cancellation of a run")
            run.cancellation_reason, run.cancellation_key = str(payload.get("reason")), row.event_key
            return True
        run.terminal_key = row.event_key
        if row.type == SUSPENDED:
            run.status, run.suspension_key = "suspended", row.event_key
            run.suspension_id = str(payload.get("SuspensionID"))
        else:
            run.status = _STATUSES.get(str(payload.get("status")), "")
        return True
