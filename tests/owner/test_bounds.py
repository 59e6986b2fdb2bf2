"""Batches, slots, waiting and memory stay within their bounds (design, Committing 1 and 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import pytest

from runlane.contract.codec import command_headers, encode_command
from runlane.contract.errors import Unavailable
from runlane.contract.ids import run_lane
from runlane.contract.partitioner import partition_for
from runlane.owner.cache import LaneCache
from runlane.owner.chain import Phase
from runlane.owner.tasks import Done, Revoked, Task, TaskKind
from runlane.owner.tenure import Tenure
from runlane.store.block import SealedBlock
from runlane.store.flight import InsertReport
from runlane.store.stops import LogFacts
from tests.owner.simulation import commands
from tests.owner.simulation.clients import one_shot
from tests.owner.simulation.journal import InsertFate, Journal
from tests.owner.simulation.process import Process, SimLog
from tests.owner.simulation.system import BOUNDS, CONFIG, System


def backlog(system: System, runs: int) -> None:
    """Put starts and appends into the log before anybody reads it."""
    partitions = system.broker.partitions
    for number in range(runs):
        run_id = f"run-{number}"
        key = run_lane(run_id).encode()
        made = [commands.start_one_shot(run_id), *(commands.append(run_id, "", n) for n in range(4))]
        for command in made:
            headers = command_headers("ask", 1)
            system.broker.produce(partition_for(key, partitions), key, encode_command(command), headers)


def bounded(**bounds: float) -> System:
    """A calm system of one owner with other bounds."""
    config = replace(CONFIG, bounds=replace(BOUNDS, **bounds))
    return System(5, owners=1, partitions=6, config=config)


class SlowInserts:
    """Takes a second an insert and counts how many run at once."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.running = 0
        self.most = 0
        insert = InsertFate.insert

        def slow(fate: InsertFate, block: SealedBlock, not_after: datetime) -> InsertReport:
            self.running += 1
            self.most = max(self.most, self.running)
            fate._world.pause(1.0)
            self.running -= 1
            return insert(fate, block, not_after)

        patch.setattr(InsertFate, "insert", slow)


def test_no_more_inserts_are_in_flight_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    inserts = SlowInserts(monkeypatch)
    system = bounded(inserts_in_flight=2, batch_commands=5)
    backlog(system, 60)
    system.begin()
    system.world.run_until(60)
    assert inserts.most == 2


@dataclass
class Waiting:
    """A partition with a block that waits since some time."""

    number: int
    since: float | None
    granted: list[int]
    tasks: list[Task]

    def waiting_since(self, now: float, linger: float) -> float | None:
        return self.since

    def attempt(self, now: float) -> Task:
        self.since = None
        self.granted.append(self.number)
        task = Task(TaskKind.INSERT, lambda _: None, lambda _: None, lambda _: None)
        self.tasks.append(task)
        return task


def test_the_partition_that_waits_longest_gets_the_next_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    core = bounded(inserts_in_flight=2)._spawn().core
    granted: list[int] = []
    tasks: list[Task] = []
    since = enumerate((5.0, 2.0, None, 1.0))
    waiting = {number: Waiting(number, begun, granted, tasks) for number, begun in since}
    monkeypatch.setattr(core, "_chains", waiting)
    core._grant()
    assert granted == [3, 1]
    core.handle(Done(tasks[0], InsertReport.ACKED, None))
    core._grant()
    assert granted == [3, 1, 0]


def test_a_batch_takes_no_more_commands_than_its_bound() -> None:
    system = bounded(batch_commands=7)
    backlog(system, 60)
    system.begin()
    system.run(trouble=0)
    sizes = {block.header.commands for chain in system.journal.blocks.values() for block in chain}
    assert max(sizes) == 7


def test_what_gathers_during_an_insert_is_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    SlowInserts(monkeypatch)
    system = bounded(batch_commands=1_000)
    backlog(system, 60)
    system.begin()
    system.run(trouble=0)
    commits = [b for chain in system.journal.blocks.values() for b in chain if b.header.commands]
    assert len(commits) <= 12
    system.check()


def test_a_slow_journal_stops_the_fetching_before_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    SlowInserts(monkeypatch)
    paused: list[int] = []
    pause = Process.pause

    def counting(process: Process, partition: int) -> None:
        paused.append(partition)
        pause(process, partition)

    monkeypatch.setattr(Process, "pause", counting)
    system = bounded(batch_commands=5, pending_bytes=2_000)
    backlog(system, 60)
    system.begin()
    system.world.run_until(300)
    assert paused
    system.check()


def test_what_stands_behind_a_hole_is_bounded_while_the_broker_does_not_say_what_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = replace(CONFIG, bounds=replace(BOUNDS, pending_bytes=20_000))
    system = System(5, owners=1, partitions=1, config=config)
    system.begin()
    system.add_client("first", one_shot("first"))
    system.run(trouble=0)
    facts, silent = SimLog.facts, [True]

    def waiting(log: SimLog, partition: int, tip_offset: int) -> LogFacts:
        if silent[0]:
            raise Unavailable("no answer")
        return facts(log, partition, tip_offset)

    monkeypatch.setattr(SimLog, "facts", waiting)
    system.broker.skip(0, 3)
    for number in range(2_000):
        system.broker.produce(0, b"r/x", b"%d" % number, [])
    system.world.run_until(system.world.now + 30)
    tenure = system.owner_of(0).core.chains[0]._stage
    assert isinstance(tenure, Tenure)
    assert tenure._held_bytes >= 20_000
    # What one fetch more brings, and the same again.
    assert len(tenure._held) <= 20_000 // 300 + 2 * 40
    assert tenure.waiting
    silent[0] = False
    system.world.run_until(system.world.now + 60)
    assert system.journal.chain(0)[-1].header.last + 1 == system.broker.end(0)
    system.check()


def test_too_many_parts_make_batches_wait_and_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    system = bounded()
    insert = InsertFate.insert
    busy_until = 8.0

    def busy(fate: InsertFate, block: SealedBlock, not_after: datetime) -> InsertReport:
        return InsertReport.BUSY if fate._world.now < busy_until else insert(fate, block, not_after)

    monkeypatch.setattr(InsertFate, "insert", busy)
    system.begin()
    system.add_client("worker", one_shot("run"))
    system.world.run_until(5)
    core = system.owner_of(0).core
    assert core._linger.seconds > 0
    system.run(trouble=0)
    assert core._linger.seconds == 0
    system.check()


def test_many_active_parts_make_batches_wait() -> None:
    system = bounded()
    system.journal.parts = 300
    system.begin()
    system.add_client("worker", one_shot("run"))
    system.world.run_until(5)
    core = system.owner_of(0).core
    assert core._linger.seconds == pytest.approx(0.1)
    system.journal.parts = 3
    system.run(trouble=0)
    assert core._linger.seconds == 0


def test_a_revoked_partition_is_drained_then_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    SlowInserts(monkeypatch)
    system = bounded()
    backlog(system, 30)
    system.begin()
    system.world.run_until(4.5)
    owner = system.owner_of(0)
    owner.post(Revoked(tuple(range(6))))
    system.world.run_until(20)
    assert sorted(owner.let_go) == list(range(6))
    assert {chain.phase for chain in owner.core.chains.values()} == {Phase.LEFT}
    for partition, chain in system.journal.blocks.items():
        decided = chain[-1].header.last
        assert system.broker.committed.get(partition, 0) == decided + 1
        answers = [answer for block in chain for answer, _ in block.draft.commands]
        sent = {message.value for message in system.broker.outcomes()}
        assert {answer.outcome for answer in answers} <= sent


def test_a_lost_partition_is_let_go_at_once_and_commits_nothing() -> None:
    system = bounded()
    backlog(system, 30)
    system.begin()
    system.world.run_until(0.5)
    owner = system.owner_of(0)
    owner.post(Revoked(tuple(range(6)), lost=True))
    committed = dict(system.broker.committed)
    system.world.run_until(0.6)
    assert {chain.phase for chain in owner.core.chains.values()} == {Phase.LEFT}
    assert system.broker.committed == committed


def test_partitions_beyond_the_recorded_count_only_answer_that_they_are_wrong() -> None:
    system = System(5, owners=1, partitions=2)
    system.begin()
    system.add_client("worker", one_shot("run"))
    system.run(trouble=0)
    system.owner_of(0).kill()
    system.broker.partitions = 3
    system.begin()
    key = run_lane("elsewhere").encode()
    body = encode_command(commands.start_one_shot("elsewhere"))
    system.broker.produce(2, key, body, command_headers("ask", 1))
    system.run(trouble=0)
    codes = [answer.code for block in system.journal.chain(2) for answer, _ in block.draft.commands]
    assert codes == ["misrouted"]
    assert system.journal.chain(2)[-1].header.partition_count == 2


def test_undecided_lanes_are_never_evicted_and_committed_ones_leave_oldest_first() -> None:
    journal = Journal(System(1).world)
    cache = LaneCache(max_bytes=3 * journal.lane("r/0").accounted_bytes, lane_bytes=1_000_000)
    for number in range(5):
        cache.put(0, journal.lane(f"r/{number}"))
    cache.account("r/0", 9)
    cache.promote(0, 8)
    cache.trim()
    assert [lane for lane in (f"r/{n}" for n in range(5)) if lane in cache] == ["r/0", "r/3", "r/4"]
    cache.promote(0, 9)
    assert cache.get("r/0") is not None
    cache.put(0, journal.lane("r/5"))
    cache.trim()
    assert "r/3" not in cache
    cache.drop(0)
    assert cache.accounted_bytes == 0
