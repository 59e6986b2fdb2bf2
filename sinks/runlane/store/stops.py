"""Typed stops: what the writer of a chain refuses to go on with, and what an operator may answer it with.

A stop holds one partition; the others go on. None of them is ever turned into a silent reset (design,
Takeover).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from runlane.store.block import BlockHeader, LogId


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What the log says about one partition.

    ``committed`` and ``tip_digest`` are None where there is none.
    """

    log: LogId
    low: int
    high: int
    committed: int | None
    tip_digest: bytes | None


@dataclass(frozen=True, slots=True)
class LogShape:
    """Which log it is, its partitions, and the partitions of the outcomes topic."""

    log: LogId
    partitions: int
    reply_partitions: int


class StopKind(StrEnum):
    """Why a partition is stopped."""

    LOG_REPLACED = "log_replaced"
    LOG_TRIMMED = "log_trimmed"
    LOG_TRUNCATED = "log_truncated"
    TIP_CHANGED = "tip_changed"
    OFFSET_AHEAD = "offset_ahead"
    LOG_BEGINS_LATE = "log_begins_late"
    PARTITIONS_MISSING = "partitions_missing"
    LOGIC_TOO_OLD = "logic_too_old"
    BLOCK_MISSING = "block_missing"
    BLOCK_REFUSED = "block_refused"
    JOURNAL_FAULT = "journal_fault"
    DECISION_FAILED = "decision_failed"


_ADOPT: Final = "runlane adopt-log"

ANSWERS: Final = {
    StopKind.LOG_REPLACED: _ADOPT,
    StopKind.LOG_TRIMMED: _ADOPT,
    StopKind.LOG_TRUNCATED: _ADOPT,
    StopKind.TIP_CHANGED: _ADOPT,
    StopKind.OFFSET_AHEAD: _ADOPT,
    StopKind.LOG_BEGINS_LATE: _ADOPT,
    StopKind.PARTITIONS_MISSING: "runlane owner (again, once the topic has its partitions)",
    StopKind.LOGIC_TOO_OLD: "runlane owner (of a newer release)",
    StopKind.BLOCK_MISSING: "runlane repair",
    StopKind.BLOCK_REFUSED: "runlane owner (again, once ClickHouse takes the block)",
    StopKind.JOURNAL_FAULT: "runlane verify",
    StopKind.DECISION_FAILED: "runlane owner (of a release without this fault)",
}
"""The command that answers each stop of an owner; in brackets what has to be done before."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A stopped partition: what happened, in words without payload, and what answers it."""

    kind: StopKind
    partition: int
    message: str

    @property
    def answer(self) -> str:
        """The command that an operator may answer the stop with."""
        return ANSWERS[self.kind]


def check_before_claim(
    partition: int, head: BlockHeader | None, *, partitions: int, logic_version: int
) -> Stop | None:
    """Return what forbids to claim the chain that ends with ``head``, or None."""
    if head is None:
        return None
    if head.logic_version > logic_version:
        message = f"the chain was decided by logic {head.logic_version}, this owner has {logic_version}"
        return Stop(StopKind.LOGIC_TOO_OLD, partition, message)
    if head.partition_count > partitions:
        message = f"the topic has {partitions} partitions, the chain was started with {head.partition_count}"
        return Stop(StopKind.PARTITIONS_MISSING, partition, message)
    return None


def check_log(head: BlockHeader, facts: LogFacts) -> Stop | None:
    """Return how the log contradicts the chain that ends with ``head``, or None (design, Takeover)."""
    next_offset = head.last + 1 - head.base
    found: tuple[StopKind, str] | None = None
    if facts.log != head.log:
        found = (StopKind.LOG_REPLACED, "the topic or its cluster is another one than the chain's")
    elif facts.low > next_offset:
        kind = StopKind.LOG_BEGINS_LATE if head.last < 0 else StopKind.LOG_TRIMMED
        found = (kind, f"offsets {next_offset} to {facts.low - 1} were deleted before they were decided")
    elif facts.high < next_offset:
        found = (StopKind.LOG_TRUNCATED, f"the log ends at {facts.high}, before {next_offset}")
    elif head.tip_digest and facts.tip_digest is not None and facts.tip_digest != head.tip_digest:
        found = (
            StopKind.TIP_CHANGED,
            f"the message at offset {next_offset - 1} is another one than was decided",
        )
    elif facts.committed is not None and facts.committed > next_offset:
        found = (StopKind.OFFSET_AHEAD, f"the group's offset {facts.committed} is past {next_offset}")
    return None if found is None else Stop(found[0], head.partition, found[1])
