"""How patient a store is, and how much it keeps in flight."""

from __future__ import annotations

import random
from dataclasses import dataclass

from runlane.contract.limits import KIB


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Bounds of one store: ``RunStore.connect(..., options=ClientOptions(timeout=10))``.

    ``timeout`` is for a whole operation in seconds, claims and retries included. ``answer_wait`` is how long
    an outcome may take before the command is sent again, doubled with each try; ``retry_wait`` and
    ``max_retry_wait`` space the tries after a temporary failure. ``max_partition_bytes`` is a tenth of what
    the embedded broker keeps of a partition, since several processes write to it. ``max_lanes`` bounds the
    memory of where runs live.
    """

    timeout: float = 60.0
    answer_wait: float = 5.0
    retry_wait: float = 0.05
    max_retry_wait: float = 5.0
    max_bytes_in_flight: int = 32 * KIB * KIB
    max_partition_bytes: int = 512 * KIB
    max_lanes: int = 65_536

    def answer_pause(self, tries: int) -> float:
        """Seconds to wait for the outcome of send number ``tries``; jittered, so that clients spread."""
        return float(self.answer_wait * 2 ** min(tries - 1, 10) * _jitter(1.0, 1.2))

    def retry_pause(self, failures: int) -> float:
        """Seconds to wait after temporary failure number ``failures`` in a row; jittered."""
        pause = min(self.retry_wait * 2 ** min(failures - 1, 20), self.max_retry_wait)
        return float(pause * _jitter(0.5, 1.0))


def _jitter(low: float, high: float) -> float:
    return random.uniform(low, high)  # noqa: S311 - it spreads clients, it keeps no secret
