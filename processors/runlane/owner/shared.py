"""What all partitions of one owner share."""

from __future__ import annotations

from dataclasses import dataclass, field

from runlane.contract.codec import Codec
from runlane.owner.batch import Desk
from runlane.owner.cache import LaneCache
from runlane.owner.config import Bounds, OwnerConfig
from runlane.owner.durations import Durations
from runlane.owner.erase import Eraser
from runlane.owner.ports import ClockPort, IdsPort
from runlane.owner.readback import ReadBacks
from runlane.owner.tasks import Io


@dataclass(slots=True)
class Stats:
    """Counts since the start, for metrics; written by the core only."""

    commands: int = 0
    refused: int = 0
    records: int = 0
    blocks: int = 0
    claims: int = 0
    ownerships_lost: int = 0
    deliveries_failed: int = 0
    positions_skipped: int = 0
    lanes_loaded: int = 0


@dataclass(frozen=True, slots=True)
class Shared:
    """Settings, ports that never block, and the cache."""

    config: OwnerConfig
    clock: ClockPort
    ids: IdsPort
    io: Io
    codec: Codec
    desk: Desk
    cache: LaneCache
    eraser: Eraser
    readbacks: ReadBacks
    stats: Stats = field(default_factory=Stats)
    commit_seconds: Durations = field(default_factory=Durations)

    @property
    def bounds(self) -> Bounds:
        """The owner's bounds."""
        return self.config.bounds
