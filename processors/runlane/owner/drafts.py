"""The blocks that an owner drafts, and what it reads before it may (design, Committing; Takeover)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from runlane.owner.batch import Batch, message_digest
from runlane.owner.config import LOGIC_VERSION
from runlane.owner.ports import LogFacts, LogShape, Ports
from runlane.owner.stops import StopKind
from runlane.store.block import BlockHeader, BlockKind, Draft, LogId
from runlane.store.chain import ChainEnd

NOTHING_DECIDED = -1
"""The tip of a partition without a block."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a takeover reads first."""

    shape: LogShape
    end: ChainEnd
    partition_count: int


@dataclass(frozen=True, slots=True)
class Ownership:
    """One period of writing a chain: what each of its blocks states alike."""

    partition: int
    generation: int
    epoch: int
    nonce: str
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


def survey(ports: Ports, partition: int) -> Survey:
    """Read the log's shape, the chain's end, and the partition count that the chains were started with."""
    shape = ports.log.shape()
    end = ports.store.end(partition)
    recorded = None if end.header is None else end.header.partition_count
    if recorded is None:
        recorded = ports.store.recorded_partition_count()
    return Survey(shape, end, shape.partitions if recorded is None else recorded)


def claim(own: Ownership, head: BlockHeader | None, log: LogId, now: datetime) -> Draft:
    """Draft the block that opens an ownership; it changes nothing but the epoch."""
    return Draft(
        partition=own.partition,
        generation=own.generation,
        kind=BlockKind.CLAIM,
        epoch=own.epoch,
        nonce=own.nonce,
        logic_version=LOGIC_VERSION,
        log=log if head is None else head.log,
        base=0 if head is None else head.base,
        partition_count=own.partition_count,
        last=NOTHING_DECIDED if head is None else head.last,
        tip_digest=b"" if head is None else head.tip_digest,
        watermark=NOTHING_DECIDED if head is None else head.watermark,
        time=now if head is None else max(now, head.time),
    )


def commit(own: Ownership, head: BlockHeader, batch: Batch, watermark: int) -> Draft:
    """Draft the block of a batch."""
    message = batch.last_message
    assert message is not None, "an empty batch is no block"
    return Draft(
        partition=own.partition,
        generation=own.generation,
        kind=BlockKind.COMMIT,
        epoch=own.epoch,
        nonce=own.nonce,
        logic_version=LOGIC_VERSION,
        log=head.log,
        base=head.base,
        partition_count=own.partition_count,
        last=batch.last,
        tip_digest=message_digest(message.key, message.value),
        watermark=watermark,
        time=batch.time,
        commands=batch.commands,
    )


def adopt(own: Ownership, head: BlockHeader | None, adoption: Adoption, now: datetime) -> Draft:
    """Draft the block that journals another base, or the lost range from the tip to ``adoption.last``."""
    return Draft(
        partition=own.partition,
        generation=own.generation,
        kind=BlockKind.ADOPT,
        epoch=own.epoch,
        nonce=own.nonce,
        logic_version=LOGIC_VERSION,
        log=adoption.log,
        base=adoption.base,
        partition_count=own.partition_count,
        last=adoption.last,
        tip_digest=adoption.tip_digest,
        watermark=NOTHING_DECIDED if head is None else head.watermark,
        time=now if head is None else max(now, head.time),
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
            return Adoption(head.log, head.base, head.last, head.tip_digest)
        case _:
            return None
