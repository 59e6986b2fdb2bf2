"""The partition of a key: murmur2 as the Java client computes it, so that workers in any language agree.

Source: design, Wire formats. The vectors of the tests come from the real Java client.
"""

from __future__ import annotations

from functools import lru_cache
from struct import unpack_from
from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_WORD: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """Return the 32-bit murmur2 hash of ``data`` as an unsigned number."""
    length = len(data)
    words = length // 4
    h = _SEED ^ length
    for k in unpack_from(f"<{words}I", data):
        k = k * _MULTIPLIER & _WORD  # noqa: PLW2901 - the algorithm's own variable
        k = (k ^ k >> 24) * _MULTIPLIER & _WORD  # noqa: PLW2901
        h = (h * _MULTIPLIER & _WORD) ^ k
    tail = data[words * 4 :]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * _MULTIPLIER & _WORD
    h = (h ^ h >> 13) * _MULTIPLIER & _WORD
    return h ^ h >> 15


@lru_cache(maxsize=65_536)
def partition_for(key: bytes, count: int) -> int:
    """Return the partition of ``key`` in a topic of ``count`` partitions."""
    return (murmur2(key) & _POSITIVE) % count
