"""What the behaviour cases need of an implementation: commands, reads, and what the journal grew by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from runlane.contract.commands import Command
from runlane.contract.outcomes import Result
from runlane.contract.values import Page, RunMeta, RunStatus, RunSuspension, Session, SessionStatus


@dataclass(frozen=True)
class Growth:
    """Rows added since the last look: records and lane events, and states of runs, sessions and checkpoints.

    Answers and claims are not counted: a refused command may leave its answer, and a refused start its claim.
    """

    records: int
    states: int


class Backend(Protocol):
    """A store that speaks the contract. Everything raises what the contract says."""

    @property
    def namespace(self) -> str:
        """A prefix for run and session ids that keeps tests apart on a store that outlives them."""
        ...

    def execute(self, command: Command) -> Result:
        """Run one command, with whatever claims, lanes and signatures it needs, and return its result."""
        ...

    def journal_growth(self) -> Growth:
        """Return what was written since the last call."""
        ...

    def load_run(self, run_id: str) -> RunMeta: ...

    def load_run_suspension(self, run_id: str) -> RunSuspension: ...

    def load_session(self, session_id: str) -> Session: ...

    def load_session_status(self, session_id: str) -> SessionStatus: ...

    def list_runs_by_session(
        self, session_id: str, statuses: Sequence[RunStatus] = ()
    ) -> Sequence[RunMeta]: ...

    def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page: ...

    def list_session_run_records(self, session_id: str, cursor: str, limit: int) -> Page: ...
