"""One owner process in the simulated world.

The real core, driven by virtual time, killed at any port call.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from runlane.contract.codec import Codec
from runlane.contract.decide import LaneState, decide
from runlane.contract.errors import Unavailable
from runlane.contract.state import KeyEntry
from runlane.kafka import Delivery
from runlane.owner.batch import Decide
from runlane.owner.config import OwnerConfig
from runlane.owner.core import Core
from runlane.owner.ports import Outgoing, Ports
from runlane.owner.tasks import Event, Fetched, FetchFailed, Task, run
from runlane.store.block import SealedBlock
from runlane.store.chain import ChainEnd, ChainTip, OutboxPage
from runlane.store.flight import InsertReport
from runlane.store.stops import LogFacts, LogShape
from tests.owner.simulation.broker import Broker
from tests.owner.simulation.journal import InsertFate, Journal
from tests.owner.simulation.world import START, World

T = TypeVar("T")
CODEC = Codec()
SEND_SECONDS = 0.004


class Crash(BaseException):
    """The process ends here."""


class Process:
    """One life of an owner: clock, ids, I/O and ports of one core.

    ``calls`` counts its port calls by name. ``crash_at`` (name, n, after) kills it before or after its n-th
    such call.
    """

    def __init__(
        self,
        world: World,
        journal: Journal,
        broker: Broker,
        *,
        config: OwnerConfig,
        decides: Decide = decide,
        crashed: Callable[[Process], None] = lambda _: None,
    ) -> None:
        self.world = world
        self.journal = journal
        self.broker = broker
        self.dead = False
        self.frozen_until = 0.0
        self.calls: Counter[str] = Counter()
        self.crash_at: tuple[str, int, bool] | None = None
        self.let_go: list[int] = []
        self._crashed = crashed
        self._skew = world.random.uniform(-100, 100)
        self._inbox: deque[Event] = deque()
        self._next_step = float("inf")
        self._fetching: dict[int, Fetching] = {}
        self.ports = Ports(SimLog(self), SimStore(self), self, self)
        self.core = Core(config, clock=self, ids=self, io=self, codec=CODEC, decide=decides)

    # Clock and ids.

    def now(self) -> datetime:
        return START + timedelta(seconds=self.world.now + self._skew)

    def monotonic(self) -> float:
        return self.world.now

    def sleep(self, seconds: float) -> None:
        self.world.pause(seconds)

    def nonce(self) -> str:
        return f"{self.world.random.getrandbits(64):016x}"

    def jitter(self) -> float:
        return self.world.random.random()

    # What the core asks for.

    def submit(self, task: Task) -> None:
        self.world.after(self.world.random.uniform(0.001, 0.01), lambda: self._run(task))

    def post(self, event: Event) -> None:
        if not self.dead:
            self._inbox.append(event)
            self._step_at(self.world.now)

    def start(self, partition: int, offset: int, tag: int) -> None:
        self.reach("start")
        self._fetching[partition] = Fetching(self, partition, offset, tag)
        self._fetching[partition].soon()

    def pause(self, partition: int) -> None:
        if partition in self._fetching:
            self._fetching[partition].paused = True

    def resume(self, partition: int) -> None:
        self._fetching[partition].paused = False
        self._fetching[partition].soon()

    def commit(self, partition: int, offset: int) -> None:
        number = self.reach("commit")
        self.broker.commit(partition, offset)
        self.reached("commit", number)

    def send(self, message: Outgoing, delivered: Delivery) -> bool:
        number = self.reach("send")
        if self.world.chance(self.world.faults.full_queue):
            return False
        self.world.after(SEND_SECONDS, lambda: self._deliver(message, delivered))
        self.reached("send", number)
        return True

    def released(self, partition: int) -> None:
        self.let_go.append(partition)
        self._fetching.pop(partition, None)

    # The world's side.

    def reach(self, name: str) -> int:
        """A port call begins: a process may end here. Return the call's number."""
        self.calls[name] += 1
        number = self.calls[name]
        self._perhaps_crash((name, number, False))
        return number

    def reached(self, name: str, number: int) -> None:
        """A port call has had its effect: a process may end here too."""
        self._perhaps_crash((name, number, True))

    def _perhaps_crash(self, point: tuple[str, int, bool]) -> None:
        if self.dead or self.crash_at == point or self.world.chance(self.world.faults.crash):
            raise Crash

    def block_call(self, name: str, effect: Callable[[], T]) -> T:
        """A port call of a worker thread: it takes its time, and a frozen process stands still in it."""
        world = self.world
        number = self.reach(name)
        world.pause(world.random.uniform(0.002, 0.05))
        if world.chance(world.faults.freeze):
            self.frozen_until = max(self.frozen_until, world.now + world.random.uniform(1, 40))
        if self.frozen_until > world.now:
            world.pause(self.frozen_until - world.now)
        self._perhaps_crash((f"{name} begun", number, False))
        result = effect()
        self.reached(name, number)
        return result

    def read_call(self, name: str, effect: Callable[[], T]) -> T:
        """A read, which may find the database or the broker silent."""

        def answered() -> T:
            if self.world.chance(self.world.faults.failed_read) or self.world.now < self.journal.down_until:
                raise Unavailable("no answer")
            return effect()

        return self.block_call(name, answered)

    def kill(self) -> None:
        """End the process; what it has sent already still arrives."""
        if not self.dead:
            self.dead = True
            self._crashed(self)

    def _run(self, task: Task) -> None:
        if self._postponed(lambda: self._run(task)):
            return
        try:
            done = run(task, self.ports)
        except Crash:
            self.kill()
            return
        self.post(done)

    def _step_at(self, when: float) -> None:
        if when < self._next_step:
            self._next_step = when
            self.world.after(max(0.0, when - self.world.now), lambda: self._step(when))

    def _step(self, when: float) -> None:
        if when != self._next_step or self._postponed(lambda: self._step(when)):
            return
        self._next_step = float("inf")
        try:
            while self._inbox:
                self.core.handle(self._inbox.popleft())
            more = self.core.step()
        except Crash:
            self.kill()
            return
        wake = self.core.wake_at()
        self._step_at(self.world.now + 0.001 if more else max(wake, self.world.now + 0.0005))

    def _postponed(self, action: Callable[[], None]) -> bool:
        if self.dead:
            return True
        if self.frozen_until > self.world.now:
            self.world.after(self.frozen_until - self.world.now, action)
            return True
        return False

    def _deliver(self, message: Outgoing, delivered: Delivery) -> None:
        failed = self.world.chance(self.world.faults.failed_delivery)
        if not failed or self.world.chance(0.5):
            self.broker.arrive(message)
        if not self.dead:
            delivered(Unavailable("the broker did not take it") if failed else None)


class Fetching:
    """How one process reads one partition since it was last started."""

    def __init__(self, process: Process, partition: int, offset: int, tag: int) -> None:
        self._process = process
        self._partition = partition
        self._offset = offset
        self._tag = tag
        self._scheduled = False
        self.paused = False

    def soon(self) -> None:
        """Fetch in a moment."""
        if not self._scheduled:
            self._scheduled = True
            self._process.world.after(0.005, self._fetch)

    def _fetch(self) -> None:
        process = self._process
        self._scheduled = False
        if process.dead or process._fetching.get(self._partition) is not self or self.paused:
            return
        world = process.world
        count = world.random.randint(1, 40)
        messages = process.broker.fetch(self._partition, self._offset, count)
        if messages is None:
            process.post(FetchFailed(self._partition, self._tag))
            return
        if not messages:
            process.broker.waiters.setdefault(self._partition, []).append(self.soon)
            return
        process.post(Fetched(self._partition, self._tag, messages))
        self._offset = messages[-1].offset + 1
        if world.chance(world.faults.duplicate):
            process.post(Fetched(self._partition, self._tag, messages))
        self.soon()


class SimStore:
    """A process's connection to the journal."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._fate = InsertFate(process.journal)

    def end(self, partition: int) -> ChainEnd:
        return self._process.read_call("end", lambda: self._process.journal.end(partition))

    def insert(self, block: SealedBlock, not_after: datetime) -> InsertReport:
        return self._process.block_call("insert", lambda: self._fate.insert(block, not_after))

    def tips(self, floors: Mapping[int, int]) -> Mapping[int, ChainTip]:
        journal = self._process.journal
        return self._process.read_call(
            "tips", lambda: {partition: journal.tip(partition, floor) for partition, floor in floors.items()}
        )

    def outbox(self, partition: int, after: int, to: int, max_bytes: int) -> OutboxPage:
        journal = self._process.journal
        return self._process.read_call("outbox", lambda: journal.outbox(partition, after, to, max_bytes))

    def load_lanes(self, lanes: Sequence[str], max_bytes: int) -> Mapping[str, LaneState]:
        journal = self._process.journal
        return self._process.read_call(
            "load_lanes", lambda: {lane: journal.load_lane(lane, max_bytes) for lane in lanes}
        )

    def load_keys(self, lane: str, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], KeyEntry]:
        journal = self._process.journal
        return self._process.read_call("load_keys", lambda: journal.load_keys(lane, pairs))

    def recorded_partition_count(self) -> int | None:
        journal = self._process.journal
        return self._process.read_call("recorded", journal.recorded_partition_count)

    def active_parts(self) -> int:
        return self._process.read_call("active_parts", lambda: self._process.journal.parts)

    def pending_erases(self, partition: int) -> Sequence[str]:
        journal = self._process.journal
        return self._process.read_call("pending_erases", lambda: journal.pending_erases(partition))

    def erase(self, lane: str) -> bool:
        return self._process.read_call("erase", lambda: self._process.journal.erase(lane))

    def start_generation(self, partition: int, generation: int) -> None:
        self._process.journal.generations[partition] = generation


class SimLog:
    """A process's connection to the broker, as far as workers use it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def shape(self) -> LogShape:
        return self._process.read_call("shape", self._process.broker.shape)

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        broker = self._process.broker
        return self._process.read_call("facts", lambda: broker.facts(partition, tip_offset))

    def force_offset(self, partition: int, offset: int) -> None:
        committed = self._process.broker.committed
        self._process.read_call("force_offset", lambda: committed.__setitem__(partition, offset))

    def unused(self, *_: object) -> Any:
        raise NotImplementedError

    begin = poll = start = pause = resume = commit = send = renew = unused
