"""A journal that misbehaves as the engine does.

Losing inserts report success, late ones land, answers get lost.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from runlane.contract.decide import LaneState
from runlane.contract.state import Changes, KeyEntry
from runlane.contract.values import CommittedRecord
from runlane.store.block import SealedBlock
from runlane.store.chain import ChainEnd, ChainTip, OutboxPage
from runlane.store.flight import InsertReport
from runlane.store.rows import Answer
from tests.owner.simulation.world import World

Token = tuple[int, int, int, int]
Entry = tuple[int, Changes]
"""A block's number, and what one of its commands changed."""


class Journal:
    """The server's side: every owner's ``SimStore`` works on the one journal.

    ``window`` is how many tokens the table remembers; ``checks_dates`` can be switched off, to show what the
    ``not_after`` constraint is for.
    """

    def __init__(self, world: World, *, window: int = 400, checks_dates: bool = True) -> None:
        self.world = world
        self.window = window
        self.checks_dates = checks_dates
        self.blocks: dict[int, list[SealedBlock]] = {}
        self.generations: dict[int, int] = {}
        self.doubled: list[SealedBlock] = []
        self.erased: set[str] = set()
        self.down_until = 0.0
        self.parts = 1
        self._erasing: set[str] = set()
        self._tokens: OrderedDict[Token, None] = OrderedDict()
        self._lanes: dict[str, list[Entry]] = {}
        self._records: dict[tuple[str, int], CommittedRecord] = {}
        self._answers: dict[tuple[int, int], Answer] = {}

    def arrive(self, block: SealedBlock, not_after: datetime) -> bool:
        """Take an insert's bytes.

        False when they are too late, else they are committed or dropped silently.
        """
        if self.checks_dates and not_after < self.world.server_time():
            return False
        header = block.header
        token = (header.part, header.partition, header.generation, header.number)
        if token in self._tokens:
            return True
        self._tokens[token] = None
        if len(self._tokens) > self.window:
            self._tokens.popitem(last=False)
        chain = self.blocks.setdefault(header.partition, [])
        if any(held.header.number == header.number for held in chain):
            self.doubled.append(block)
            return True
        chain.append(block)
        self._index(block)
        return True

    def lose(self, partition: int) -> None:
        """Drop the last block's part, but not its token: a power loss without fsync."""
        self.blocks[partition].pop()
        self._lanes.clear()
        for chain in self.blocks.values():
            for block in chain:
                self._index(block)

    def chain(self, partition: int) -> Sequence[SealedBlock]:
        """Return a partition's blocks in order."""
        return self.blocks.get(partition, [])

    def changes(self) -> Iterator[tuple[SealedBlock, Answer, Changes]]:
        """Yield every answer with its changes in block order."""
        for chain in self.blocks.values():
            for block in chain:
                for answer, changes in block.draft.commands:
                    yield block, answer, changes

    def record(self, lane: str, lane_seq: int) -> CommittedRecord | None:
        """Return a lane's record."""
        return self._records.get((lane, lane_seq))

    def answer(self, partition: int, position: int) -> Answer | None:
        """Return a position's answer."""
        return self._answers.get((partition, position))

    def lane(self, lane: str) -> LaneState:
        """Fold the journal's rows into a lane's state."""
        state = LaneState(lane)
        for _, changes in self._lanes.get(lane, []):
            if not changes.empty:
                state.apply(changes)
        return state

    def _index(self, block: SealedBlock) -> None:
        for answer, changes in block.draft.commands:
            self._lanes.setdefault(answer.lane, []).append((block.header.number, changes))
            self._answers[block.header.partition, answer.position] = answer
            for record in changes.records:
                self._records[record.lane, record.lane_seq] = record

    def end(self, partition: int) -> ChainEnd:
        """As ``StorePort.end``."""
        time = self.world.server_time()
        chain = self.chain(partition)
        header = chain[-1].header if chain else None
        return ChainEnd(self.generations.get(partition, 1), header, time)

    def tip(self, partition: int, floor: int) -> ChainTip:
        """As ``StorePort.tips``, of one partition."""
        end = self.end(partition)
        if end.header is None or end.header.number < floor:
            return ChainTip(end.generation, -1, b"", end.time)
        return ChainTip(end.generation, end.header.number, end.header.hash, end.time)

    def outbox(self, partition: int, after: int, to: int, max_bytes: int) -> OutboxPage:
        """As ``StorePort.outbox``."""
        items: list[Answer | CommittedRecord] = []
        size = 0
        last = after
        for block in self.chain(partition):
            if block.header.last <= after or block.header.first > to:
                continue
            if size > max_bytes:
                break
            last = block.header.last
            for answer, changes in block.draft.commands:
                if answer.lane in self.erased and block.header.number < self._tombstone(answer.lane):
                    continue
                items.append(answer)
                items.extend(changes.records)
                size += len(answer.outcome)
        return OutboxPage(items, last)

    def recorded_partition_count(self) -> int | None:
        """As ``StorePort.recorded_partition_count``."""
        counts = [chain[-1].header.partition_count for chain in self.blocks.values() if chain]
        return min(counts) if counts else None

    def pending_erases(self, partition: int) -> Sequence[str]:
        """As ``StorePort.pending_erases``."""
        purged = {
            answer.lane
            for block, answer, changes in self.changes()
            if changes.purged and block.header.partition == partition
        }
        return sorted(purged - self.erased)

    def erase(self, lane: str) -> bool:
        """As ``StorePort.erase``; it takes two calls, as a mutation does."""
        if lane in self._erasing:
            self.erased.add(lane)
            return True
        self._erasing.add(lane)
        return False

    def load_keys(self, lane: str, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], KeyEntry]:
        """As ``StorePort.load_keys``."""
        state = self.lane(lane)
        found = {pair: state.key(*pair) for pair in pairs}
        return {pair: entry for pair, entry in found.items() if entry is not None}

    def _tombstone(self, lane: str) -> int:
        return min(number for number, made in self._lanes[lane] if made.purged)

    def load_lane(self, lane: str, max_bytes: int) -> LaneState:
        """As ``StorePort.load_lanes``, of one lane; without keys when it is larger than ``max_bytes``."""
        state = self.lane(lane)
        if state.accounted_bytes <= max_bytes:
            return state
        claims = [changes.claim for _, changes in self._lanes[lane] if changes.claim is not None]
        return LaneState.restore(
            lane,
            next_lane_seq=state.next_lane_seq,
            session=state.session,
            runs=[(run, state.next_seq(run.run_id)) for run in state.runs()],
            claim=claims[-1] if claims else None,
            keys_complete=False,
        )


class InsertFate:
    """How one insert ends, drawn from the world's chances."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._world = journal.world

    def insert(self, block: SealedBlock, not_after: datetime) -> InsertReport:
        """Insert now, later, or never, and say so or not."""
        world, journal = self._world, self._journal
        faults = world.faults
        if world.now < journal.down_until:
            return InsertReport.UNKNOWN
        if world.chance(faults.busy_insert):
            return InsertReport.BUSY
        if world.chance(faults.late_insert):
            delay = world.random.choice((0.5, 3.0, 8.0, 12.0, 40.0, 300.0))
            world.after(delay, lambda: self._land(block, not_after))
            return InsertReport.UNKNOWN
        if world.chance(faults.unknown_insert):
            if world.chance(0.5):
                journal.arrive(block, not_after)
            return InsertReport.UNKNOWN
        return InsertReport.ACKED if journal.arrive(block, not_after) else InsertReport.LATE

    def _land(self, block: SealedBlock, not_after: datetime) -> None:
        self._journal.arrive(block, not_after)
