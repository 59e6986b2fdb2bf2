"""An owner on a thread of its own, with what keeps it company: health, the search table, a log of stops."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import structlog

from runlane.contract.codec import Codec
from runlane.contract.errors import RunlaneError, Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import GroupSettings, KafkaConfig
from runlane.owner.chain import Phase
from runlane.owner.config import OwnerConfig
from runlane.owner.journal_store import JournalStore
from runlane.owner.kafka_log import KafkaLog
from runlane.owner.owner import Owner, SystemClock, SystemIds
from runlane.owner.ports import Ports
from runlane.service.health import Progress, Pulse
from runlane.store.block import LogId
from runlane.store.engine import ClientPool
from runlane.store.filling import refresh_search
from runlane.store.stops import Stop

_HELD: Final = frozenset({Phase.WAITING, Phase.TAKING, Phase.OPEN, Phase.STOPPED})
_LOOK_SECONDS: Final = 1.0
_STEP_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class OwnerParts:
    """What an owner is made of. ``log`` names the embedded broker; None lets the group share a real one."""

    kafka: KafkaConfig
    topics: Topics
    group: GroupSettings
    pool: ClientPool
    journal_id: str
    config: OwnerConfig
    codec: Codec
    log: LogId | None = None

    def ports(self) -> tuple[Ports, KafkaLog]:
        """Connect to the log; whoever calls closes it."""
        log = KafkaLog(self.kafka, topics=self.topics, group=self.group, log=self.log)
        execution = self.config.bounds.max_execution
        store = JournalStore(self.pool, self.journal_id, max_execution=execution)
        return Ports(log, store, SystemClock(), SystemIds()), log


class OwnerThread:
    """Owns partitions from entering to leaving: ``with OwnerThread(parts) as owner: owner.wait()``.

    ``failure`` is what ended it before it was asked to, and ``ended`` is set then.
    """

    def __init__(self, parts: OwnerParts) -> None:
        ports, self._log = parts.ports()
        self._pool = parts.pool
        self.owner = Owner(parts.config, ports, codec=parts.codec)
        self.progress = Progress(self._pulse)
        self.failure: BaseException | None = None
        self.ended = threading.Event()
        self._leaving = threading.Event()
        self._threads = [
            threading.Thread(target=self._own, name="owner"),
            threading.Thread(target=self._accompany, name="owner-company"),
        ]
        self._stops: dict[int, Stop] = {}
        self._blocks_found = 0

    def __enter__(self) -> Self:
        """Start to own."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Settle what is in flight, then let every partition go."""
        self._leaving.set()
        self.owner.stop()
        for thread in self._threads:
            thread.join()
        self._log.close()

    def wait_until_open(self, partitions: int, seconds: float) -> None:
        """Wait until that many partitions are open; ``Unavailable`` when they are not in time."""
        waited = 0.0
        while list(self.owner.phases().values()).count(Phase.OPEN) < partitions:
            self.check()
            if waited >= seconds:
                reasons = "; ".join(f"{stop.kind}: {stop.answer}" for stop in self.owner.stops().values())
                raise Unavailable(f"the owner did not open its partitions ({reasons or 'time is over'})")
            waited += _STEP_SECONDS
            self.ended.wait(_STEP_SECONDS)

    def check(self) -> None:
        """Raise what ended the owner, if anything did."""
        if self.failure is not None:
            raise self.failure

    def _pulse(self) -> Pulse:
        owner = self.owner
        stops = {number: f"{stop.kind}: {stop.answer}" for number, stop in owner.stops().items()}
        held = sum(phase in _HELD for phase in owner.phases().values())
        return Pulse(partitions=held, done=owner.stats.blocks, waiting=owner.waiting, stops=stops)

    def _own(self) -> None:
        try:
            self.owner.run()
        except BaseException as failure:  # noqa: BLE001 - the main thread raises it and chooses the exit code
            self.failure = failure
        finally:
            self.ended.set()

    def _accompany(self) -> None:
        """Log new stops, and fill the derived table after new blocks."""
        log = structlog.get_logger(__name__)
        while not self._leaving.wait(_LOOK_SECONDS):
            stops = dict(self.owner.stops())
            for number, stop in stops.items():
                if self._stops.get(number) != stop:
                    log.error(
                        "partition stopped",
                        partition=number,
                        stop=stop.kind.value,
                        reason=stop.message,
                        answer=stop.answer,
                    )
            self._stops = stops
            try:
                self._fill()
            except RunlaneError as error:
                log.warning("the search table waits", code=error.code)
            except Exception as fault:  # noqa: BLE001 - stops must go on being told
                log.warning("the search table waits", fault=type(fault).__name__)

    def _fill(self) -> None:
        blocks = self.owner.stats.blocks
        if blocks != self._blocks_found:
            refresh_search(self._pool)
            self._blocks_found = blocks
