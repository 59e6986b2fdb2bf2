"""The blocks of any table of chains: claims, adoptions, commits (design, Committing; Takeover)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from runlane.contract.state import Changes
from runlane.store.block import BlockHeader, BlockKind, Draft, LogId
from runlane.store.rows import Answer
from runlane.store.stops import LogFacts, StopKind

NOTHING_DECIDED = -1
"""The tip of a partition without a block."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """One period of writing a chain: what each of its blocks states alike."""

    partition: int
    generation: int
    epoch: int
    nonce: str
    logic_version: int
    partition_count: int


@dataclass(frozen=True, slots=True)
class Adoption:
    """A log's new relation to the chain.

    ``last`` is the tip after it, ``base`` what offsets are counted from.
    """

    log: LogId
    base: int
    last: int
    tip_digest: bytes


def claim(own: Ownership, head: BlockHeader | None, log: LogId, now: datetime) -> Draft:
    """Draft the block that opens an ownership; it changes nothing but the epoch."""
    return Draft(
        partition=own.partition,
        generation=own.generation,
        kind=BlockKind.CLAIM,
        epoch=own.epoch,
        nonce=own.nonce,
        logic_version=own.logic_version,
        log=log if head is None else head.log,
        base=0 if head is None else head.base,
        partition_count=own.partition_count,
        last=NOTHING_DECIDED if head is None else head.last,
        tip_digest=b"" if head is None else head.tip_digest,
        watermark=NOTHING_DECIDED if head is None else head.watermark,
        time=now if head is None else max(now, head.time),
    )


def adopt(own: Ownership, head: BlockHeader | None, adoption: Adoption, now: datetime) -> Draft:
    """Draft the block that journals another base, or the lost range from the tip to ``adoption.last``."""
    return Draft(
        partition=own.partition,
        generation=own.generation,
        kind=BlockKind.ADOPT,
        epoch=own.epoch,
        nonce=own.nonce,
        logic_version=own.logic_version,
        log=adoption.log,
        base=adoption.base,
        partition_count=own.partition_count,
        last=adoption.last,
        tip_digest=adoption.tip_digest,
        watermark=NOTHING_DECIDED if head is None else head.watermark,
        time=now if head is None else max(now, head.time),
    )


def commit(
    own: Ownership,
    head: BlockHeader,
    *,
    last: int,
    tip_digest: bytes,
    watermark: int,
    time: datetime,
    commands: Sequence[tuple[Answer, Changes]] = (),
) -> Draft:
    """Draft the block of the commands up to ``last``, the digest of whose message is ``tip_digest``."""
    return Draft(
        partition=own.partition,
        generation=own.generation,
        kind=BlockKind.COMMIT,
        epoch=own.epoch,
        nonce=own.nonce,
        logic_version=own.logic_version,
        log=head.log,
        base=head.base,
        partition_count=own.partition_count,
        last=last,
        tip_digest=tip_digest,
        watermark=watermark,
        time=time,
        commands=commands,
    )


def adoption_of(kind: StopKind, head: BlockHeader, facts: LogFacts) -> Adoption | None:
    """Return how the log is adopted after a stop of ``kind``, or None when adopting is no answer to it.

    A log that is another one, or whose message at the tip is, is read from its start; a trimmed one from its
    start too, with the range between journaled as lost; a truncated one from its end. Commands met again are
    exact retries.
    """
    match kind:
        case StopKind.LOG_REPLACED | StopKind.TIP_CHANGED:
            return Adoption(facts.log, head.last + 1 - facts.low, head.last, b"")
        case StopKind.LOG_TRIMMED | StopKind.LOG_BEGINS_LATE:
            return Adoption(head.log, head.base, head.base + facts.low - 1, b"")
        case StopKind.LOG_TRUNCATED:
            return Adoption(head.log, head.last + 1 - facts.high, head.last, b"")
        case StopKind.OFFSET_AHEAD:
            return Adoption(head.log, head.base, head.last, b"")
        case _:
            return None
