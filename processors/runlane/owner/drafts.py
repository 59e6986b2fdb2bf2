"""The blocks that an owner drafts, and what it reads before it may (design, Committing; Takeover)."""

from __future__ import annotations

from dataclasses import dataclass

from runlane.owner.batch import Batch
from runlane.owner.ports import Ports
from runlane.store import drafts
from runlane.store.block import BlockHeader, Draft, message_digest
from runlane.store.chain import ChainEnd
from runlane.store.drafts import Ownership
from runlane.store.stops import LogShape


@dataclass(frozen=True, slots=True)
class Survey:
    """What a takeover reads first."""

    shape: LogShape
    end: ChainEnd
    partition_count: int


def survey(ports: Ports, partition: int) -> Survey:
    """Read the log's shape, the chain's end, and the partition count that the chains were started with."""
    shape = ports.log.shape()
    end = ports.store.end(partition)
    recorded = None if end.header is None else end.header.partition_count
    if recorded is None:
        recorded = ports.store.recorded_partition_count()
    return Survey(shape, end, shape.partitions if recorded is None else recorded)


def commit(own: Ownership, head: BlockHeader, batch: Batch, watermark: int) -> Draft:
    """Draft the block of a batch."""
    message = batch.last_message
    assert message is not None, "an empty batch is no block"
    return drafts.commit(
        own,
        head,
        last=batch.last,
        tip_digest=message_digest(message.key, message.value),
        watermark=watermark,
        time=batch.time,
        commands=batch.commands,
    )
