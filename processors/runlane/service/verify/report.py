"""What a verification found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

MAX_FAULTS: Final = 1000
"""More faults are counted, not kept: a broken journal must not fill the memory."""
JOURNAL: Final = "journal"
MEMORY: Final = "memory_events"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: a stable code, where it is, and words that hold no payload. -1 and "" mean no one place.

    In memory a lane is a run of an agent: both names with a newline between.
    """

    code: str
    message: str
    partition: int = -1
    block: int = -1
    lane: str = ""
    table: str = JOURNAL


@dataclass(slots=True)
class Report:
    """Counts of what was read, and the faults in the order they were found."""

    blocks: int = 0
    commands: int = 0
    records: int = 0
    memory_blocks: int = 0
    memory_events: int = 0
    faults: list[Fault] = field(default_factory=list[Fault])
    unlisted: int = 0

    def add(self, fault: Fault) -> None:
        """Keep a fault, or count it when there are too many."""
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(fault)
        else:
            self.unlisted += 1

    def forgive(self, lanes: Iterable[str]) -> None:
        """Drop the faults of lanes that were purged while they were being read."""
        gone = frozenset(lanes)
        self.faults = [fault for fault in self.faults if fault.lane not in gone]

    @property
    def sound(self) -> bool:
        """Whether there is no fault."""
        return not self.faults and not self.unlisted

    def as_json(self) -> dict[str, Any]:
        """Return the report as `runlane verify --json` prints it."""
        faults = list(self.faults)
        if self.unlisted:
            faults.append(Fault("more_faults", f"{self.unlisted} more faults are not listed"))
        return {
            "blocks": self.blocks,
            "commands": self.commands,
            "records": self.records,
            "memory_blocks": self.memory_blocks,
            "memory_events": self.memory_events,
            "faults": [asdict(fault) for fault in faults],
        }


@dataclass(frozen=True, slots=True)
class Place:
    """Where faults are being looked for; ``fault`` makes one of that place."""

    partition: int = -1
    block: int = -1
    lane: str = ""
    table: str = JOURNAL

    def fault(self, code: str, message: str) -> Fault:
        """Return a fault here."""
        return Fault(code, message, self.partition, self.block, self.lane, self.table)

    def of_block(self, block: int) -> Place:
        """Return one block of the same partition."""
        return replace(self, block=block)

    def of_lane(self, lane: str) -> Place:
        """Return the same place in one lane."""
        return replace(self, lane=lane)
