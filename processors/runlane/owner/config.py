"""What an owner is told: its keys, its bounds, what it may adopt by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from runlane.contract.signing import Keyring
from runlane.store.stops import StopKind

LOGIC_VERSION: Final = 1
"""Raised with each change of ``decide`` that decides a command differently."""

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of memory, batches and waiting. Seconds are of the local monotonic clock unless said otherwise.

    ``not_after`` and ``max_execution`` are of the server's clock: how long a block may wait before it is
    inserted, and how long one insert may run. A chain's end read more than ``proof_age`` ago is read again
    before a block is dated. A read-back waits ``gather_seconds`` at most for other inserts to end.
    ``batch_bytes``, ``pending_bytes`` and ``outbox_bytes`` bound each partition, ``cache_bytes`` the owner.
    """

    inserts_in_flight: int = 2
    gather_seconds: float = 0.03
    batch_commands: int = 2_000
    batch_bytes: int = 4 * MIB
    batch_seconds: float = 0.05
    pending_bytes: int = 4 * MIB
    outbox_bytes: int = 8 * MIB
    page_bytes: int = 4 * MIB
    cache_bytes: int = 128 * MIB
    lane_bytes: int = 16 * MIB
    load_lanes: int = 256
    not_after: float = 60.0
    max_execution: float = 30.0
    proof_age: float = 20.0
    busy_parts: int = 100
    max_linger: float = 2.0
    retry_first: float = 0.05
    retry_last: float = 2.0
    recheck: float = 5.0
    revoke_seconds: float = 10.0
    refusals: int = 3

    def backoff(self, failures: int) -> float:
        """Return how long to wait after so many failures before: doubled each time, up to the bound."""
        return min(self.retry_first * float(2 ** min(failures, 16)), self.retry_last)


@dataclass(frozen=True, slots=True)
class OwnerConfig:
    """Keys and bounds. ``adopts`` are the stops that an owner of the embedded broker answers by itself."""

    host_keys: Keyring | None
    receipt_keys: Keyring
    adopts: frozenset[StopKind] = frozenset()
    bounds: Bounds = Bounds()
