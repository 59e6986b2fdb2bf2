"""The stepping core of an owner: events in, tasks and messages out.

It is single-threaded and deterministic and never waits. The real loop drives it from a queue, the simulator
from a seed. Inserts of all partitions share a few slots, the longest-waiting partition first; what gathers
meanwhile is the next batch (design, Committing 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runlane.contract.codec import Codec
from runlane.owner.batch import Decide, Desk
from runlane.owner.cache import LaneCache
from runlane.owner.chain import Chain, Phase
from runlane.owner.config import OwnerConfig
from runlane.owner.durations import Durations
from runlane.owner.erase import Eraser
from runlane.owner.linger import Linger
from runlane.owner.ports import ClockPort, IdsPort
from runlane.owner.readback import ReadBacks
from runlane.owner.shared import Shared, Stats
from runlane.owner.tasks import (
    Assigned,
    Done,
    Event,
    Fetched,
    FetchFailed,
    Io,
    Revoked,
    Settled,
    TaskKind,
)
from runlane.owner.watch import LogWatch
from runlane.store.stops import LogShape, Stop

_SLICE: Final = 64


class Core:
    """All partitions of one owner."""

    def __init__(
        self, config: OwnerConfig, *, clock: ClockPort, ids: IdsPort, io: Io, codec: Codec, decide: Decide
    ) -> None:
        bounds = config.bounds
        self._shared = Shared(
            config=config,
            clock=clock,
            ids=ids,
            io=io,
            codec=codec,
            desk=Desk(codec, config.receipt_keys, decide),
            cache=LaneCache(bounds.cache_bytes, bounds.lane_bytes),
            eraser=Eraser(io, clock),
            readbacks=ReadBacks(io, clock, bounds.gather_seconds),
        )
        self._linger = Linger(bounds, io, clock)
        self._watch = LogWatch(io, clock, self._log_seen)
        self._chains: dict[int, Chain] = {}

    @property
    def stats(self) -> Stats:
        """Counts since the start."""
        return self._shared.stats

    @property
    def commit_seconds(self) -> Durations:
        """How long blocks took from their first command to their commit."""
        return self._shared.commit_seconds

    @property
    def eraser(self) -> Eraser:
        """The purged lanes that still have rows."""
        return self._shared.eraser

    @property
    def cache(self) -> LaneCache:
        """The lanes in memory."""
        return self._shared.cache

    @property
    def chains(self) -> Mapping[int, Chain]:
        """The partitions that were ever assigned."""
        return self._chains

    def stops(self) -> Mapping[int, Stop]:
        """Return the stopped partitions and why."""
        return {number: chain.stop for number, chain in self._chains.items() if chain.stop is not None}

    def handle(self, event: Event) -> None:
        """Take one event."""
        match event:
            case Done():
                self._done(event)
            case Fetched():
                self._chain(event.partition).feed(event.messages, event.tag)
            case Settled():
                self._chain(event.partition).settled(event.tag)
            case Assigned():
                for partition in event.partitions:
                    self._chain(partition).take()
            case Revoked():
                for partition in event.partitions:
                    self._chain(partition).leave(lost=event.lost)
            case FetchFailed():
                self._chain(event.partition).fetch_failed(event.tag)

    def step(self) -> bool:
        """Do what is due and decide a slice of each partition; return whether more can be done at once."""
        now = self._shared.clock.monotonic()
        for chain in self._chains.values():
            chain.tick(now)
        self._shared.readbacks.tick(now)
        self._shared.eraser.tick(now)
        self._linger.tick(now)
        self._watch.tick(now)
        self._grant()
        more = False
        for chain in self._chains.values():
            more = chain.work(_SLICE) or more
        self._grant()
        return more

    def wake_at(self) -> float:
        """Return when ``step`` is due without an event, by the monotonic clock; infinity for never."""
        now, chains = self._shared.clock.monotonic(), self._chains.values()
        # While every slot is taken, it is an insert's end that lets a waiting block go on, not a time.
        full = self._shared.readbacks.inserting >= self._shared.bounds.inserts_in_flight
        times = [chain.wake_at(now, full=full) for chain in chains]
        helpers = (self._shared.readbacks, self._shared.eraser, self._linger, self._watch)
        times += [helper.wake_at() for helper in helpers]
        if self._linger.seconds and not full:
            times += [chain.lingers_until(self._linger.seconds) for chain in chains]
        return min(times)

    def _log_seen(self, shape: LogShape) -> None:
        for chain in self._chains.values():
            chain.log_seen(shape)

    def _done(self, done: Done) -> None:
        if done.failure is not None:
            done.task.failed(done.failure)
        else:
            if done.task.kind is TaskKind.INSERT:
                self._linger.inserted(done.result)
            done.task.then(done.result)
        if done.task.kind is TaskKind.INSERT:
            self._shared.readbacks.insert_ended(done.task)

    def _grant(self) -> None:
        """Give free slots to the blocks that wait longest."""
        shared = self._shared
        while shared.readbacks.inserting < shared.bounds.inserts_in_flight:
            now = shared.clock.monotonic()
            first: Chain | None = None
            since = float("inf")
            for chain in self._chains.values():
                waits = chain.waiting_since(now, self._linger.seconds)
                if waits is not None and waits < since:
                    first, since = chain, waits
            if first is None:
                return
            task = first.attempt(now)
            if task is not None:
                shared.readbacks.insert_began(task)
                shared.io.submit(task)

    def _chain(self, partition: int) -> Chain:
        chain = self._chains.get(partition)
        if chain is None:
            chain = self._chains[partition] = Chain(self._shared, partition)
        return chain


def settled(core: Core) -> bool:
    """Whether every partition is open or stopped: the owner works, or says why it does not."""
    return all(chain.phase in (Phase.OPEN, Phase.STOPPED, Phase.LEFT) for chain in core.chains.values())
