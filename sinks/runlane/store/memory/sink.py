"""The loop of the memory sink: poll, store, answer, one partition after the other, in one thread.

Nothing is ever under way between two polls, so a partition can be let go of at once. What the loop loses by
waiting for the database it gains in blocks: meanwhile messages gather.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from runlane.contract.codec import Codec
from runlane.contract.errors import FatalKafkaError, JournalFault, TemporaryError, TopicMismatch
from runlane.kafka import Message, Polled
from runlane.store.chain import ChainEnd
from runlane.store.memory.chain import ChainLost, ChainStopped, MemoryChain, SinkBounds
from runlane.store.memory.ports import MemoryPorts, Run
from runlane.store.rota import Rota
from runlane.store.stops import Stop, StopKind

_POLL_SECONDS: Final = 0.05
_FETCH: Final = 1_000
_MISSING_TOPIC_SECONDS: Final = 0.5
_LOG: Final = logging.getLogger("runlane.memory")

_PASSING: Final = frozenset({StopKind.JOURNAL_FAULT, StopKind.BLOCK_REFUSED, StopKind.PARTITIONS_MISSING})
"""Stops that end by themselves once their cause does."""


@dataclass(slots=True)
class _Held:
    """An assigned partition: its open chain, or when to take it over, or why not."""

    number: int
    chain: MemoryChain | None = None
    due: float = 0.0
    failures: int = 0
    stop: Stop | None = None
    seen: tuple[int, bytes] = (0, b"")


class MemorySink:
    """Stores what products remember: ``MemorySink(ports).run()``; ``stop()`` from any thread ends it.

    ``adopts`` are the contradictions between log and chain that it accepts by itself. ``run`` raises
    ``KafkaNotPermitted``, and ``FatalKafkaError`` where new clients do not help.
    """

    def __init__(
        self,
        ports: MemoryPorts,
        *,
        adopts: frozenset[StopKind] = frozenset(),
        bounds: SinkBounds | None = None,
        codec: Codec | None = None,
    ) -> None:
        self._ports = ports
        self._adopts = adopts
        self._bounds = bounds or SinkBounds()
        self._codec = codec or Codec()
        self._held: dict[int, _Held] = {}
        self._erases: Rota[Run] = Rota()
        self._ended = threading.Event()
        self.stored = 0

    @property
    def erases_waiting(self) -> int:
        """How many runs still have deleted events to erase; any thread."""
        return len(self._erases)

    @property
    def erases_failed(self) -> int:
        """How many steps of erasing failed; any thread."""
        return self._erases.failed

    @property
    def open_partitions(self) -> int:
        """How many partitions are read now; any thread."""
        return sum(held.chain is not None for held in tuple(self._held.values()))

    def stops(self) -> Mapping[int, Stop]:
        """Return the stopped partitions and why; any thread."""
        return {number: held.stop for number, held in tuple(self._held.items()) if held.stop is not None}

    def stop(self) -> None:
        """End ``run``; a block under way is settled by whoever takes its chain over."""
        self._ended.set()

    def run(self) -> None:
        """Store until ``stop``; a Kafka client that failed for good is made anew."""
        while not self._ended.is_set():
            try:
                self._own()
            except FatalKafkaError as failure:
                if not self._ended.is_set():
                    self._ports.log.renew(failure)
                self._held.clear()

    def _own(self) -> None:
        log = self._ports.log
        log.begin(self._assigned, self._revoked)
        while not self._ended.is_set():
            self._take_over_what_is_due()
            try:
                polled = log.poll(_FETCH, _POLL_SECONDS)
            except TopicMismatch:
                self._topic_missing()
                continue
            self._feed(polled)
            self._erase()

    def _assigned(self, partitions: Sequence[int]) -> None:
        self._held.update({number: _Held(number) for number in partitions})

    def _revoked(self, partitions: Sequence[int], _lost: bool) -> None:  # noqa: FBT001
        for number in partitions:
            self._held.pop(number, None)

    def _take_over_what_is_due(self) -> None:
        for held in tuple(self._held.values()):
            if held.chain is None and self._ports.clock.monotonic() >= held.due and not self._ended.is_set():
                with self._guarded(held):
                    self._take_over(held)

    def _take_over(self, held: _Held) -> None:
        ports = self._ports
        if held.stop is not None and held.stop.kind not in _PASSING:
            # It ends once somebody has changed the chain: an adoption, a repair, another sink.
            end = ports.store.end(held.number)
            if held.seen == _name(end):
                held.due = ports.clock.monotonic() + self._bounds.recheck
                return
        chain = MemoryChain(
            ports, held.number, bounds=self._bounds, codec=self._codec, stopped=self._ended.is_set
        )
        chain.take_over(self._adopts)
        self._erases.add(ports.store.pending_erases(held.number))
        ports.log.start(held.number, chain.next_offset)
        held.chain, held.stop, held.failures = chain, None, 0

    def _feed(self, polled: Polled) -> None:
        by_partition: dict[int, list[Message]] = {}
        for message in polled.messages:
            by_partition.setdefault(message.partition, []).append(message)
        for number, messages in by_partition.items():
            held = self._held.get(number)
            if held is None or held.chain is None or self._ended.is_set():
                continue
            with self._guarded(held):
                self._erases.add(held.chain.feed(messages))
                self.stored += len(messages)
        for place in polled.lost:
            if (held := self._held.get(place.number)) is not None:
                self._close(held)

    def _erase(self) -> None:
        """Go on erasing what was deleted, a step at a time."""
        clock, erases = self._ports.clock, self._erases
        run = erases.first(clock.monotonic())
        if run is None:
            return
        try:
            if self._ports.store.erase(run):
                erases.finish(run)
            else:
                erases.again(run, clock.monotonic())
        except (TemporaryError, JournalFault) as failure:
            erases.fail(run, clock.monotonic())
            _LOG.warning("erasing memory of run %s failed and is tried again: %s", run[1], failure.code)

    @contextmanager
    def _guarded(self, held: _Held) -> Generator[None]:
        """Close or halt the partition when its ownership ends inside."""
        try:
            yield
        except ChainStopped as ended:
            self._halt(held, ended.stop)
        except JournalFault as fault:
            self._halt(held, Stop(StopKind.JOURNAL_FAULT, held.number, fault.message))
        except (ChainLost, TemporaryError):
            self._close(held)

    def _close(self, held: _Held) -> None:
        """Take the partition over again after a jittered back-off."""
        pause = self._bounds.backoff(held.failures) * (0.5 + self._ports.ids.jitter())
        held.chain = None
        held.failures += 1
        held.due = self._ports.clock.monotonic() + pause

    def _halt(self, held: _Held, stop: Stop) -> None:
        held.chain, held.stop = None, stop
        held.due = self._ports.clock.monotonic() + self._bounds.recheck
        with suppress(TemporaryError, JournalFault):
            held.seen = _name(self._ports.store.end(held.number))

    def _topic_missing(self) -> None:
        """The topic is gone: look at every partition again, which ends in a typed stop once it is back."""
        for held in self._held.values():
            self._close(held)
        self._ports.clock.sleep(_MISSING_TOPIC_SECONDS)


def _name(end: ChainEnd) -> tuple[int, bytes]:
    return end.generation, b"" if end.header is None else end.header.hash
