"""The owner as a whole: the core on the real loop."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from random import SystemRandom

from runlane.contract.codec import Codec
from runlane.contract.decide import decide
from runlane.contract.errors import FatalKafkaError
from runlane.owner.chain import Phase
from runlane.owner.config import OwnerConfig
from runlane.owner.core import Core
from runlane.owner.durations import Durations
from runlane.owner.erase import Eraser
from runlane.owner.loop import Loop
from runlane.owner.ports import Ports
from runlane.owner.shared import Stats
from runlane.store.stops import Stop


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """Return the wall clock in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class SystemIds:
    """The machine's randomness."""

    def __init__(self) -> None:
        self._random = SystemRandom()

    def nonce(self) -> str:
        """Return 128 random bits in hex."""
        return secrets.token_hex(16)

    def jitter(self) -> float:
        """Return a number from 0 to 1."""
        return self._random.random()


class Owner:
    """Owns partitions of the commands topic until it is stopped.

    owner = Owner(OwnerConfig(host_keys, receipt_keys), Ports(log, store, SystemClock(), SystemIds()))
    owner.run()
    """

    def __init__(self, config: OwnerConfig, ports: Ports, *, codec: Codec | None = None) -> None:
        self._config = config
        self._ports = ports
        self._codec = codec or Codec()
        self._stopping = False
        self._loop = self._new_loop()

    def run(self) -> None:
        """Own until ``stop``.

        After a failure of Kafka's client for good everything starts anew with another one, as a new process
        would: counts and caches too. Raises ``FatalKafkaError`` where that does not help, or what else cannot
        be gone on from: end the process then.
        """
        while not self._stopping:
            try:
                self._loop.run()
            except FatalKafkaError as failure:
                if not self._stopping:
                    self._start_anew(failure)
            else:
                return

    def stop(self) -> None:
        """Settle and send what is in flight, let everything go, end ``run``; any thread."""
        self._stopping = True
        self._loop.stop()

    def _start_anew(self, failure: FatalKafkaError) -> None:
        # Else the new loop's collector would keep what a worker of the old one still holds.
        self._loop.join()
        self._ports.log.renew(failure)
        self._loop = self._new_loop()

    def _new_loop(self) -> Loop:
        bounds = self._config.bounds
        return Loop(
            self._ports,
            inserts=bounds.inserts_in_flight,
            revoke_seconds=bounds.revoke_seconds,
            core=self._new_core,
        )

    def _new_core(self, loop: Loop) -> Core:
        clock, ids = self._ports.clock, self._ports.ids
        return Core(self._config, clock=clock, ids=ids, io=loop, codec=self._codec, decide=decide)

    @property
    def stats(self) -> Stats:
        """Counts since the start, or the last new start, for metrics; read from any thread."""
        return self._loop.core.stats

    @property
    def commit_seconds(self) -> Durations:
        """How long blocks took from their first command to their commit; read from any thread."""
        return self._loop.core.commit_seconds

    @property
    def erases(self) -> Eraser:
        """How erasing purged lanes goes; read from any thread."""
        return self._loop.core.eraser

    @property
    def cached_bytes(self) -> int:
        """The accounted memory of the cached lanes."""
        return self._loop.core.cache.accounted_bytes

    @property
    def waiting(self) -> bool:
        """Whether progress is due: a chain is being taken over, or commands wait."""
        return any(chain.waiting for chain in list(self._loop.core.chains.values()))

    def phases(self) -> Mapping[int, Phase]:
        """Return where each partition that this owner has or had stands."""
        return {number: chain.phase for number, chain in list(self._loop.core.chains.items())}

    def stops(self) -> Mapping[int, Stop]:
        """Return the stopped partitions, why, and what answers it."""
        return self._loop.core.stops()
