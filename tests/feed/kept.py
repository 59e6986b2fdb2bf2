"""A journal in memory for the tests of one partition, and an outlet that remembers what it was given."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from runlane.contract.activity import ActivityShare
from runlane.contract.activity.fold import RunningRuns
from runlane.contract.stream import StreamEvent
from runlane.contract.times import EPOCH
from runlane.contract.values import CommittedRecord

ENDS = ("run_completed", "run_suspended")


class Kept:
    """Implements ``History`` of partition 0 over blocks of records; ``reads`` are ranges that were read."""

    def __init__(self, blocks: Sequence[Sequence[CommittedRecord]]) -> None:
        self.blocks = list(blocks)
        self.tombstones: set[str] = set()
        self.sent = [n - 1 for n in range(len(blocks))]
        self.reads: list[tuple[int, int]] = []

    def last_block(self, partition: int) -> int:
        return len(self.blocks) - 1

    def time_of(self, partition: int, block: int) -> datetime:
        found = [one.committed_at for blocks in self.blocks[: block + 1] for one in blocks]
        return max(found, default=EPOCH)

    def block_since(self, partition: int, since: datetime) -> int | None:
        found = (n for n, block in enumerate(self.blocks) if any(one.committed_at >= since for one in block))
        return next(found, None)

    def sent_block(self, partition: int, block: int) -> int:
        return self.sent[block] if block >= 0 else -1

    def running(self, partition: int, block: int) -> Sequence[RunningRuns]:
        runs: Counter[tuple[str, str]] = Counter()
        for records in self.blocks[:block]:
            for one in records:
                if one.lane not in self.tombstones:
                    runs[one.lane, one.agent_id] += (one.type == "run_started") - (one.type in ENDS)
        return [(lane, agent, count) for (lane, agent), count in runs.items() if count > 0]

    def purged(self, partition: int) -> frozenset[str]:
        return frozenset(self.tombstones)

    def taken(self, partition: int, lanes: Sequence[str], block: int) -> Mapping[str, int]:
        records = (one for records in self.blocks[: block + 1] for one in records if one.lane in lanes)
        return {one.lane: one.lane_seq for one in records}

    def records(self, partition: int, first: int, last: int) -> Iterator[Sequence[CommittedRecord]]:
        if first <= last:
            self.reads.append((first, last))
        for block in self.blocks[first : last + 1]:
            yield [one for one in block if one.lane not in self.tombstones]


def owner_sends(
    blocks: Sequence[Sequence[CommittedRecord]], chance: random.Random
) -> tuple[list[CommittedRecord], list[int]]:
    """What an owner whose deliveries fail now and then leaves on the topic, and ``sent`` of its journal.

    A failed delivery is a hole until the next owner sends everything again from the last block that is known
    to be there; meanwhile the one that failed may go on for some blocks. An owner that is long gone may send
    once more what it has.
    """
    topic: list[CommittedRecord] = []
    sent: list[int] = []
    whole, failing = -1, 0
    for number, block in enumerate(blocks):
        sent.append(whole)
        failed = chance.random() < 0.3
        failing = failing or (chance.randrange(1, 4) if failed else 0)
        topic += [one for one in block if not (failed and chance.random() < 0.2)]
        if failing:
            failing -= 1
        if not failing:
            if failed or whole < number - 1:
                topic += [one for again in blocks[whole + 1 : number + 1] for one in again]
            whole = number
        if chance.random() < 0.1:
            topic += topic[-chance.randrange(1, 80) :]
    topic += [one for again in blocks[whole + 1 :] for one in again]
    return topic, sent


class Caught:
    """Implements ``Outlet``."""

    def __init__(self) -> None:
        self.events: list[StreamEvent] = []
        self.shares: list[ActivityShare] = []

    def event(self, event: StreamEvent) -> None:
        self.events.append(event)

    def share(self, share: ActivityShare) -> None:
        self.shares.append(share)

    def latest(self) -> dict[tuple[str, datetime, int], ActivityShare]:
        """What a reader makes of the shares: of each the greatest revision."""
        found: dict[tuple[str, datetime, int], ActivityShare] = {}
        for share in self.shares:
            known = found.get(share.identity)
            if known is None or share.revision >= known.revision:
                found[share.identity] = share
        return found


def by_identity(events: Sequence[StreamEvent]) -> dict[tuple[str, str, str], StreamEvent]:
    """What a reader makes of events that come again: each must be the same every time."""
    versions: dict[tuple[str, str, str], set[StreamEvent]] = defaultdict(set)
    for event in events:
        versions[event.identity].add(event)
    assert all(len(one) == 1 for one in versions.values())
    return {identity: one for identity, (one,) in versions.items()}
