"""The state of one lane, as ``decide`` reads it and the journal's rows rebuild it (design, Deciding; G9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from runlane.contract.values import CommittedRecord, RunMeta, RunStatus, RunSuspension, Session, StartOutcome


@dataclass(frozen=True, slots=True)
class RunState:
    """Everything about a run but its records: its meta, its lifecycle keys, its checkpoint's proof.

    ``checkpoint_digest`` is SHA-256 of the checkpoint bytes, empty without one.
    """

    run_id: str
    agent_id: str
    session_id: str
    parent_run_id: str
    status: RunStatus
    start_outcome: StartOutcome
    started_at: datetime
    updated_at: datetime
    labels: Mapping[str, str]
    cancellation_reason: str
    start_key: str
    link_key: str
    cancellation_key: str
    suspension_key: str
    terminal_key: str
    suspension_id: str
    checkpoint_digest: bytes

    def meta(self) -> RunMeta:
        """Return the run as ``load_run`` shows it (contract 1.5)."""
        return RunMeta(
            run_id=self.run_id,
            agent_id=self.agent_id,
            session_id=self.session_id,
            parent_run_id=self.parent_run_id,
            status=self.status,
            start_outcome=self.start_outcome,
            started_at=self.started_at,
            updated_at=self.updated_at,
            labels=self.labels,
            cancellation_reason=self.cancellation_reason,
        )


@dataclass(frozen=True, slots=True)
class SessionState:
    """A lane's session; ``purged`` leaves only its id (contract 1.2)."""

    session_id: str
    session: Session | None
    purged: bool


@dataclass(frozen=True, slots=True)
class RunClaim:
    """The lane that holds a run id for ever, and the block that says so."""

    run_id: str
    lane: str
    block: int


class KeyEntry(NamedTuple):
    """A used event key: the record's ``seq`` and the digest of all that equality compares (contract 2.1)."""

    seq: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Checkpoint bytes to be journaled; they are in no cached state and in no outcome."""

    run_id: str
    suspension: RunSuspension


class Changes(NamedTuple):
    """What one decided command changes in its lane: whole new values, in the order they were made.

    ``runs`` holds a run only when its state changed; the counters follow from ``records``. ``keys`` are
    (run id, event key, entry). ``purged`` drops every run and key of the lane.
    """

    records: tuple[CommittedRecord, ...] = ()
    runs: tuple[RunState, ...] = ()
    session: SessionState | None = None
    claim: RunClaim | None = None
    checkpoint: Checkpoint | None = None
    keys: tuple[tuple[str, str, KeyEntry], ...] = ()
    purged: bool = False

    @property
    def empty(self) -> bool:
        """Whether the command left no trace (a refusal or an exact retry; G4)."""
        return not (self.records or self.runs or self.session or self.claim or self.purged)


NO_CHANGES = Changes()


class LaneView(Protocol):
    """What ``decide`` may read of its lane. Keys that a command names are loaded before it is decided."""

    @property
    def lane(self) -> str:
        """The lane key, ``s/<session id>`` or ``r/<run id>``."""
        ...

    @property
    def next_lane_seq(self) -> int:
        """The ``lane_seq`` of the lane's next record."""
        ...

    @property
    def session(self) -> SessionState | None:
        """The session of an ``s/`` lane, None when it was never created."""
        ...

    def run(self, run_id: str) -> RunState | None:
        """Return the run, or None when it never started here or was purged."""
        ...

    def next_seq(self, run_id: str) -> int:
        """Return the ``seq`` of the run's next record, 1 for a run without records."""
        ...

    def runs(self) -> Iterator[RunState]:
        """Iterate over all runs of the lane, in any order."""
        ...

    def key(self, run_id: str, event_key: str) -> KeyEntry | None:
        """Return the entry of a used event key, or None."""
        ...

    def claim(self, run_id: str) -> RunClaim | None:
        """Return who holds ``run_id``; only the lane ``r/<run id>`` knows."""
        ...
