"""What the demo shows for: what is stored, what a second telling changes, whether the journal is sound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from runlane.client import RunStore
from runlane.contract.values import RunMeta
from runlane.service.demo.play import Pass, play
from runlane.service.demo.script import CHECKPOINT, Names, Step
from runlane.service.verify import Report

_PAGE = 500


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run as the read API shows it, with the number of its records."""

    meta: RunMeta
    records: int

    def row(self) -> dict[str, Any]:
        """Return what is printed of it."""
        meta = self.meta
        return {
            "run": meta.run_id,
            "agent": meta.agent_id,
            "status": meta.status.value,
            "start": meta.start_outcome.value,
            "parent": meta.parent_run_id,
            "reason": meta.cancellation_reason,
            "records": self.records,
        }


@dataclass(frozen=True, slots=True)
class Proof:
    """The outcome of a demo; ``report`` is None where the journal cannot be reached from here."""

    first: Pass
    runs: tuple[StoredRun, ...]
    checkpoint_identical: bool
    second: Pass
    report: Report | None

    @property
    def sound(self) -> bool:
        """Whether everything is as it should be."""
        stored = sum(run.records for run in self.runs)
        exact = self.second == Pass(0, self.first.written, self.second.known)
        verified = self.report is None or self.report.sound
        return stored == self.first.written and self.checkpoint_identical and exact and verified

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "first": asdict(self.first),
            "runs": [run.row() for run in self.runs],
            "checkpoint_identical": self.checkpoint_identical,
            "second": asdict(self.second),
            "verify": None if self.report is None else self.report.as_json(),
            "sound": self.sound,
        }


async def prove(
    store: RunStore,
    names: Names,
    steps: tuple[Step, ...],
    *,
    verify: Callable[[], Report] | None,
    on_step: Callable[[Step], None],
) -> Proof:
    """Tell the session twice, read it back in between, and verify the journal when that is possible."""
    first = await play(store, steps, on_step)
    runs = [StoredRun(await store.load_run(name), await _count(store, name)) for name in names.runs()]
    checkpoint = await store.load_run_suspension(names.research)
    second = await play(store, steps, lambda _step: None)
    report = None if verify is None else verify()
    return Proof(first, tuple(runs), checkpoint.data == CHECKPOINT, second, report)


async def _count(store: RunStore, run_id: str) -> int:
    count, cursor = 0, ""
    while True:
        page = await store.list_run_records(run_id, cursor, _PAGE)
        count += len(page.records)
        cursor = page.next_cursor
        if not cursor:
            return count
