"""An owner on a thread of its own, with what keeps it company: health and the search table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import structlog
from prometheus_client import CollectorRegistry

from runlane.contract.codec import Codec
from runlane.contract.errors import RunlaneError
from runlane.contract.topics import Topics
from runlane.kafka import GroupSettings, KafkaConfig
from runlane.owner.chain import Phase
from runlane.owner.config import OwnerConfig
from runlane.owner.journal_store import JournalStore
from runlane.owner.kafka_log import KafkaLog
from runlane.owner.owner import Owner, SystemClock, SystemIds
from runlane.owner.ports import Ports
from runlane.service.health import Progress, Pulse
from runlane.service.metrics import OwnerCollector, process_registry
from runlane.service.role_thread import RoleThread
from runlane.store.block import LogId
from runlane.store.engine import ClientPool
from runlane.store.filling import refresh_search

_HELD: Final = frozenset({Phase.WAITING, Phase.TAKING, Phase.OPEN, Phase.STOPPED})


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

    def open_log(self) -> KafkaLog:
        """Connect to the log; whoever calls closes it."""
        return KafkaLog(self.kafka, topics=self.topics, group=self.group, log=self.log)

    def store(self) -> JournalStore:
        """Return the journal's port."""
        return JournalStore(self.pool, self.journal_id, max_execution=self.config.bounds.max_execution)


class OwnerThread(RoleThread):
    """Owns partitions from entering to leaving: ``with OwnerThread(parts) as owner: owner.ended.wait()``."""

    name = "owner"

    def __init__(self, parts: OwnerParts) -> None:
        log, store = parts.open_log(), parts.store()
        self._pool = parts.pool
        self._blocks_found = 0
        ports = Ports(log, store, SystemClock(), SystemIds())
        self.owner = Owner(parts.config, ports, codec=parts.codec)
        self._collector = OwnerCollector(
            self.owner, insert_seconds=store.insert_seconds, read_errors=lambda: log.read_errors
        )
        self.progress = Progress(self._pulse)
        super().__init__(self.owner, log)

    @property
    def open_partitions(self) -> int:
        """How many partitions are decided now."""
        return list(self.owner.phases().values()).count(Phase.OPEN)

    def registry(self) -> CollectorRegistry:
        """Return a registry with the owner's metrics and those of its process."""
        return process_registry(self._collector)

    def accompany(self) -> None:
        """Fill the derived table after new blocks."""
        blocks, log = self.owner.stats.blocks, structlog.get_logger(__name__)
        if blocks == self._blocks_found:
            return
        try:
            refresh_search(self._pool)
            self._blocks_found = blocks
        except RunlaneError as error:
            log.warning("the search table waits", code=error.code)
        except Exception as fault:  # noqa: BLE001 - stops must go on being told
            log.warning("the search table waits", fault=type(fault).__name__)

    def _pulse(self) -> Pulse:
        owner = self.owner
        held = sum(phase in _HELD for phase in owner.phases().values())
        return Pulse(partitions=held, done=owner.stats.blocks, waiting=owner.waiting, stops=self.stops())
