"""What the recovery commands need of the world: the engine, the bus and the store (contract 10)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from runlane.contract.outcomes import RunRepairResult
from runlane.contract.payloads import Failure
from runlane.contract.values import Page, RunMeta, RunRecord, RunStatus, RunSuspension, SessionStatus


class EngineStatus(StrEnum):
    """How far a workflow is."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class SuspensionOutput:
    """The checkpoint that a workflow returned, with what its record says about it (contract 1.9)."""

    checkpoint: RunSuspension
    version: str = ""
    pending_count: int = 0
    required_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineOutput:
    """What a workflow returned: a final answer, or a suspension."""

    suspension: SuspensionOutput | None = None


@dataclass(frozen=True, slots=True)
class EngineCompletion:
    """How a workflow ended, the same at each query: ``ended_at`` becomes the record's time.

    A completed workflow has an ``output`` and no ``error``, any other finished one an ``error`` and no
    ``output``.
    """

    status: EngineStatus
    ended_at: datetime | None = None
    output: EngineOutput | None = None
    error: BaseException | Failure | None = None


class Engine(Protocol):
    """The workflow engine; its user implements it."""

    async def query_run_completion(self, run_id: str) -> EngineCompletion:
        """Return how the run's workflow ended, or that it runs.

        What it raises means that the engine could not be asked; it is never taken for the run's own end.
        """
        ...


class Bus(Protocol):
    """Listeners in this process; each record reaches them once, from the call that wrote it."""

    async def publish(self, record: RunRecord) -> None:
        """Tell the listeners; what it raises is logged and stops nothing."""
        ...


class CompletionStore(Protocol):
    """The operations of the store that recovery uses; ``RunStore`` has them."""

    async def load_run(self, run_id: str) -> RunMeta:
        """Return the run; ``RunNotFound``."""
        ...

    async def load_run_suspension(self, run_id: str) -> RunSuspension:
        """Return the exact checkpoint; ``RunNotFound``, ``RunSuspensionNotFound``."""
        ...

    async def load_session_status(self, session_id: str) -> SessionStatus:
        """Return active or ended; ``SessionPurged``, ``SessionNotFound``."""
        ...

    async def list_run_records(self, run_id: str, cursor: str = "", limit: int = 100) -> Page:
        """Return a page of a run, oldest first."""
        ...

    async def ensure_run_terminal(
        self, run_id: str, status: RunStatus | str, *, record: RunRecord | None
    ) -> RunRepairResult:
        """Make sure that a run is terminal and say which state won (contract 2.10)."""
        ...

    async def ensure_run_suspension(
        self, run_id: str, suspension: RunSuspension, *, record: RunRecord | None
    ) -> RunRepairResult:
        """Make sure that a run is suspended and say which state won (contract 2.10)."""
        ...
