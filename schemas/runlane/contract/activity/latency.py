"""Latencies as a histogram whose buckets add up: an eighth wide at most, exact below 16 ms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_KEPT_BITS: Final = 4
_MILLISECOND: Final = 1_000_000
_MAX_MILLISECONDS: Final = 2**53


def bucket_of(nanoseconds: int) -> int:
    """Return the bucket of a duration: the largest whole millisecond that falls into it."""
    milliseconds = min(max(nanoseconds, 0) // _MILLISECOND, _MAX_MILLISECONDS)
    shift = max(0, milliseconds.bit_length() - _KEPT_BITS)
    return (((milliseconds >> shift) + 1) << shift) - 1


def percentile(buckets: Mapping[int, int], share: float) -> int | None:
    """Return the bucket that ``share`` (0 to 1) of all durations lie in or below; None without any."""
    total = sum(buckets.values())
    seen = 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= share * total and seen:
            return bucket
    return None
