"""The whole simulated installation: journal, broker, owners that come and go, clients, and what must hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from runlane.contract.codec import decode_outcome, encode_record, record_lane_seq
from runlane.contract.decide import LaneState, Meta, decide
from runlane.owner.batch import Decide
from runlane.owner.config import Bounds, OwnerConfig
from runlane.owner.intake import Intake
from runlane.owner.ports import Outgoing, OutTopic
from runlane.owner.tasks import Assigned, Revoked
from runlane.store.block import BlockKind, header_body, parse_header
from tests.owner.simulation.broker import REPLY_PARTITIONS, Broker
from tests.owner.simulation.clients import HOST_KEYS, RECEIPT_KEYS, Client, Script
from tests.owner.simulation.journal import Journal
from tests.owner.simulation.process import CODEC, Process
from tests.owner.simulation.world import Faults, World

BOUNDS = Bounds(
    batch_commands=20,
    not_after=10.0,
    max_execution=5.0,
    proof_age=4.0,
    page_bytes=2_000,
    load_lanes=8,
)
CONFIG = OwnerConfig(host_keys=HOST_KEYS, receipt_keys=RECEIPT_KEYS, bounds=BOUNDS)


class System:
    """Owners share the partitions; the group is slow to tell an owner that it lost one."""

    def __init__(
        self,
        seed: int,
        *,
        faults: Faults | None = None,
        partitions: int = 2,
        owners: int = 2,
        config: OwnerConfig = CONFIG,
        journal: Journal | None = None,
        decides: Decide = decide,
    ) -> None:
        self.world = World(seed, Faults())
        if journal is not None:
            journal.world = self.world
        self.journal = journal or Journal(self.world)
        self.broker = Broker(self.world, partitions)
        self.config = config
        self.decides = decides
        self.faults = faults or Faults()
        self.processes: list[Process] = []
        self.crashes = 0
        self.calls: Counter[str] = Counter()
        self.unfinished = 0
        self._owners = owners
        self._assigned: dict[int, Process] = {}
        self._calm = False
        self.broker.watchers.append(self._check_sent)
        self.broker.committers.append(self._check_committed)
        self._delivered: set[tuple[int, int]] = set()
        self._checked: dict[int, int] = {}

    # -- running ---------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the owners and give each its partitions."""
        self.world.faults = self.faults
        for _ in range(self._owners):
            self._spawn()
        for partition in range(self.broker.partitions):
            self._assign(partition)
        self.world.after(5.0, self._rebalance)

    def add_client(self, name: str, script: Script) -> Client:
        """Start a client."""
        self.unfinished += 1

        def finished() -> None:
            self.unfinished -= 1

        client = Client(self.world, self.broker, name, script, finished)
        self.world.after(self.world.random.uniform(0, 2), client.begin)
        return client

    def run(self, trouble: float, limit: float = 3_000.0) -> None:
        """Let faults happen for ``trouble`` seconds.

        Then calm down until the clients are done and all is sent.
        """
        self.world.run_until(self.world.now + trouble)
        self.calm()
        until = self.world.now + limit
        while self.unfinished and self.world.now < until:
            self.world.run_until(self.world.now + 5)
        assert not self.unfinished, f"{self.unfinished} clients still wait"
        self.world.run_until(self.world.now + 60)

    def calm(self) -> None:
        """No more faults, no more rebalances."""
        self.world.faults = Faults()
        self._calm = True

    def owner_of(self, partition: int) -> Process:
        """Return the process that the group gave a partition to."""
        return self._assigned[partition]

    def _spawn(self) -> Process:
        process = Process(
            self.world,
            self.journal,
            self.broker,
            config=self.config,
            decides=self.decides,
            crashed=self._crashed,
        )
        self.processes.append(process)
        return process

    def _alive(self) -> list[Process]:
        return [process for process in self.processes if not process.dead]

    def _assign(self, partition: int) -> None:
        alive = self._alive()
        old = self._assigned.get(partition)
        if not alive or (new := self.world.random.choice(alive)) is old:
            return
        self._assigned[partition] = new
        if old is not None and not old.dead:
            lost = self.world.chance(0.3)
            delay = self.world.random.choice((0.0, 0.5, 20.0))
            self.world.after(delay, lambda: self._revoke(old, partition, lost=lost))
        new.post(Assigned((partition,)))

    def _revoke(self, old: Process, partition: int, *, lost: bool) -> None:
        if self._assigned[partition] is not old:
            old.post(Revoked((partition,), lost))

    def _rebalance(self) -> None:
        if self._calm:
            return
        self._assign(self.world.random.randrange(self.broker.partitions))
        self.world.after(self.world.random.uniform(2, 15), self._rebalance)

    def _crashed(self, process: Process) -> None:
        self.crashes += 1
        self.calls.update(process.calls)
        mine = [partition for partition, owner in self._assigned.items() if owner is process]
        self.world.after(self.world.random.uniform(0.1, 5), lambda: self._replace(mine))

    def _replace(self, partitions: list[int]) -> None:
        self._spawn()
        for partition in partitions:
            if self._assigned[partition].dead:
                self._assign(partition)

    # -- what must hold at every moment ----------------------------------------------------------------

    def _check_sent(self, message: Outgoing) -> None:
        """Nothing is seen that is not in the journal, byte for byte."""
        if message.topic is OutTopic.RECORDS:
            lane = (message.key or b"").decode()
            seq = record_lane_seq(message.headers)
            record = self.journal.record(lane, seq or 0)
            assert record is not None
            assert encode_record(record) == message.value
        elif message.topic is OutTopic.OUTCOMES:
            outcome = decode_outcome(message.value)
            answer = self.journal.answer(outcome.partition, outcome.position)
            assert answer is not None
            assert answer.outcome == message.value
            self._delivered.add((outcome.partition, outcome.position))

    def _check_committed(self, partition: int, offset: int) -> None:
        """The group's offset is never ahead of what was sent."""
        checked = self._checked.get(partition, 0)
        for block in self.journal.chain(partition)[checked:]:
            header = block.header
            if header.last + 1 - header.base > offset:
                break
            checked += 1
            for answer, _ in block.draft.commands:
                if answer.reply_partition >= 0 and answer.lane not in self.journal.erased:
                    assert (partition, answer.position) in self._delivered
        self._checked[partition] = checked

    # -- what must hold in the end ---------------------------------------------------------------------

    def check(self) -> None:
        """Assert the guarantees on the journal and on everything that was sent."""
        assert self.journal.doubled == [], "two blocks under one number (G5)"
        for partition in self.journal.blocks:
            self._check_chain(partition)
        self._check_lanes()
        self._check_everything_sent()
        for process in self._alive():
            assert process.core.stops() == {}, process.core.stops()

    def _check_chain(self, partition: int) -> None:
        """One chain of blocks, one answer a position, every command of the log answered."""
        last, epoch, previous, nonce = -1, 0, b"", ""
        positions: list[int] = []
        for number, block in enumerate(self.journal.chain(partition)):
            header = block.header
            assert header.number == number
            assert header.prev_hash == previous
            assert parse_header(header_body(header)) == header
            assert header.first == last + 1
            assert header.rows == len(block.columns[0])
            claims = header.kind is BlockKind.CLAIM
            assert header.epoch == (epoch + 1 if claims else epoch)
            assert claims or header.nonce == nonce
            positions += [answer.position for answer, _ in block.draft.commands]
            last, epoch, previous, nonce = header.last, header.epoch, header.hash, header.nonce
        assert positions == sorted(set(positions)), "one outcome per position"
        offsets = [message.offset for message in self.broker.commands.get(partition, [])]
        assert positions == offsets, "every command is answered (G1)"

    def _check_lanes(self) -> None:
        """Deciding the log again from nothing gives the same answers, and the same lanes (G2, G3, G4, G9)."""
        for partition in self.journal.blocks:
            lanes: dict[str, LaneState] = {}
            intake = Intake(
                partition=partition,
                partitions=self.broker.partitions,
                reply_partitions=REPLY_PARTITIONS,
                codec=CODEC,
                host_keys=HOST_KEYS,
                receipt_keys=RECEIPT_KEYS,
            )
            messages = {message.offset: message for message in self.broker.commands.get(partition, [])}
            for block in self.journal.chain(partition):
                for answer, changes in block.draft.commands:
                    request = intake.read(messages[answer.position])
                    outcome = decode_outcome(answer.outcome)
                    if request.command is None:
                        assert outcome.error == request.refusal
                        assert changes.empty
                        continue
                    state = lanes.setdefault(request.lane, LaneState(request.lane))
                    meta = Meta(
                        block.header.time,
                        partition,
                        block.header.number,
                        host_authorized=request.host_authorized,
                        receipt_valid=request.receipt_valid,
                    )
                    again = decide(state, request.command, meta)
                    assert again.changes == changes
                    assert again.error == outcome.error
                    assert changes.empty or outcome.error is None, "a refusal leaves no trace (G4)"
                    if not changes.empty:
                        state.apply(changes)

    def _check_everything_sent(self) -> None:
        """After calm, every outcome and every record of the journal is on its topic; records are in order."""
        sent = Counter((message.topic, message.value) for message in self.broker.sent)
        for _, answer, changes in self.journal.changes():
            if answer.lane in self.journal.erased:
                continue
            if answer.reply_partition >= 0:
                assert sent[OutTopic.OUTCOMES, answer.outcome] >= 1
            for record in changes.records:
                assert sent[OutTopic.RECORDS, encode_record(record)] >= 1


def without(faults: Faults, **changes: float) -> Faults:
    """Return other chances."""
    return replace(faults, **changes)
