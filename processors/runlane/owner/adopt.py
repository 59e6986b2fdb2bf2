"""``runlane adopt-log``: an operator accepts that a log is not the one that its chain was decided from."""

from __future__ import annotations

from dataclasses import dataclass

from runlane.contract.errors import Unavailable
from runlane.owner.config import LOGIC_VERSION, Bounds
from runlane.owner.drafts import survey
from runlane.owner.ports import Ports
from runlane.store import drafts
from runlane.store.block import BlockHeader, SealedBlock, seal
from runlane.store.drafts import Adoption, Ownership
from runlane.store.flight import ChainWriter, Verdict
from runlane.store.settle import settle
from runlane.store.stops import LogFacts, StopKind, check_log

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was adopted: the stop it answers, the new base, the group's offset, the lost positions."""

    partition: int
    kind: StopKind
    base: int
    offset: int
    lost: int


def adopt_log(ports: Ports, partition: int, bounds: Bounds) -> Adopted | None:
    """Write the block that gives a partition's log its new relation to the chain, and set the group's offset.

    Returns None, and changes nothing, when log and chain agree. The block opens an ownership of its own, so
    that a running owner loses the chain and takes it over again. Raises ``Unavailable``, before anything is
    written, when the journal or the broker does not answer or the group still has members, and when an owner
    keeps writing.
    """
    for _ in range(_ATTEMPTS):
        begun = ports.clock.monotonic()
        found = survey(ports, partition)
        head = found.end.header
        tip_offset = drafts.NOTHING_DECIDED if head is None else head.last - head.base
        facts = ports.log.facts(partition, tip_offset)
        judged = _judge(head, facts, partition)
        if judged is None:
            return None
        kind, adoption = judged
        own = Ownership(
            partition=partition,
            generation=found.end.generation,
            epoch=1 if head is None else head.epoch + 1,
            nonce=ports.ids.nonce(),
            logic_version=LOGIC_VERSION,
            partition_count=found.partition_count,
        )
        # The offset first: a group that still has members refuses it, and then nothing is written.
        offset = adoption.last + 1 - adoption.base
        ports.log.force_offset(partition, offset)
        writer: ChainWriter[SealedBlock] = ChainWriter(bounds, head, proof=found.end.time, proven_at=begun)
        block = seal(drafts.adopt(own, head, adoption, ports.clock.now()), head)
        if settle(writer, block, ports.store, ports.clock) is Verdict.MINE:
            last = drafts.NOTHING_DECIDED if head is None else head.last
            return Adopted(partition, kind, adoption.base, offset, adoption.last - last)
    raise Unavailable("an owner keeps writing this chain")


def _judge(head: BlockHeader | None, facts: LogFacts, partition: int) -> tuple[StopKind, Adoption] | None:
    if head is None:
        late = Adoption(facts.log, 0, facts.low - 1, b"")
        return (StopKind.LOG_BEGINS_LATE, late) if facts.low > 0 else None
    stop = check_log(head, facts)
    if stop is None:
        return None
    adoption = drafts.adoption_of(stop.kind, head, facts)
    assert adoption is not None, f"adopting answers whatever partition {partition}'s log may say"
    return stop.kind, adoption
