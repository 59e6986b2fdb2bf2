"""Lists of names inside a query's text: as parameters they would travel in the address of an HTTP request.

A server takes 128 KiB in a parameter and 256 KiB of query text, so long lists are asked for in slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

_SLICE: Final = 200
"""Names of 256 bytes, each of which may be escaped, fit into a query's text that often."""

T = TypeVar("T")


def slices(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield ``values`` in slices short enough for one query."""
    for start in range(0, len(values), _SLICE):
        yield values[start : start + _SLICE]


def names(values: Sequence[str]) -> str:
    """Return the right side of an ``IN``: ``values``, of which there is at least one, as string literals."""
    return f"({', '.join(map(_literal, values))})"


def _literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
