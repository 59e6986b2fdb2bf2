"""Run by run: keys that are used once, and events that only a deletion removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from runlane.service.verify.report import MEMORY, Place, Report


class RunRow(NamedTuple):
    """What is read of an append, a deletion or an event, but its content."""

    agent_id: str
    run_id: str
    kind: str
    position: int
    partition: int
    block: int
    append_key: str

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.partition, self.block, f"{self.agent_id}\n{self.run_id}", MEMORY)


def check_runs(rows: Iterable[RunRow], report: Report) -> None:
    """Report the faults of all runs; ``rows`` are ordered by agent, run and position.

    Deletions are all there, also those that came later than the last block that is judged.
    """
    for _, found in groupby(rows, key=lambda row: (row.agent_id, row.run_id)):
        _check_run(found, report)


def _check_run(rows: Iterable[RunRow], report: Report) -> None:
    keys: set[str] = set()
    appends: list[RunRow] = []
    events: Counter[int] = Counter()
    deleted = -1
    for row in rows:
        if row.kind == "event":
            events[row.position] += 1
            continue
        if row.append_key in keys:
            report.add(row.place.fault("key_doubled", f"position {row.position} uses a key again"))
        keys.add(row.append_key)
        if row.kind == "append":
            appends.append(row)
        else:
            deleted = max(deleted, row.position)
    for row in appends:
        if row.position > deleted and not events[row.position]:
            text = f"the events of position {row.position}, which nobody deleted"
            report.add(row.place.fault("rows_missing", text))
