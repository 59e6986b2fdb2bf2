"""How rows of chains come out of ClickHouse: streamed, sorted there, up to the blocks of the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

_SETTINGS: Final = {
    "max_block_size": 8192,
    "max_threads": 2,
    "max_bytes_before_external_sort": 256 * 1024 * 1024,
    "preferred_block_size_bytes": 4 * 1024 * 1024,
}
_ROW_BYTES: Final = 256
_WINDOW_BYTES: Final = 128 * 1024 * 1024
_BUCKET_ROWS: Final = 100_000


class QueryClient(Protocol):
    """What is used of a clickhouse-connect client."""

    @property
    def server_settings(self) -> Mapping[str, Any]:
        """The server's settings by name, each with its ``readonly`` flag."""
        ...

    def query(self, query: str, /) -> Any:
        """Return a result with ``result_rows``."""
        ...

    def query_row_block_stream(self, query: str, /, *, settings: dict[str, Any]) -> Any:
        """Return a context that yields lists of rows."""
        ...


class TableSource:
    """Reads one table of chains; what it yields ends at the same blocks, whatever is written meanwhile."""

    def __init__(self, client: QueryClient, table: str) -> None:
        self._client = client
        self._table = table
        self._ends = self._read_ends()
        # A reader may not be allowed to set anything; it then lives with the server's own bounds.
        known = client.server_settings
        self._settings = {
            name: value for name, value in _SETTINGS.items() if name in known and not known[name].readonly
        }

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions that have blocks."""
        return tuple(sorted(self._ends))

    def _chain(self, partition: int, columns: Sequence[str]) -> Iterator[Sequence[Any]]:
        """Yield all rows of a partition in generation, block and row order."""
        for generation, first, last in self._windows(partition):
            blocks = f"generation = {generation} AND block BETWEEN {first} AND {last}"
            yield from self._rows(columns, f"partition = {partition} AND {blocks}", "block, row")

    def _windows(self, partition: int) -> Iterator[tuple[int, int, int]]:
        """Yield generation, first and last block of windows that fit into one query's result."""
        query = (
            f"SELECT generation, block, sum(length(body) + {_ROW_BYTES}) FROM {self._table} "  # noqa: S608
            f"WHERE partition = {partition} AND block <= {self._ends[partition]} "
            "GROUP BY generation, block ORDER BY generation, block"
        )
        window: tuple[int, int, int] | None = None
        filled = 0
        for generation, block, size in self._client.query(query).result_rows:
            if window is None or window[0] != generation or filled + size > _WINDOW_BYTES:
                if window is not None:
                    yield window
                window, filled = (generation, block, block), 0
            window, filled = (generation, window[1], block), filled + size
        if window is not None:
            yield window

    def _ranges(self, where: str, key: tuple[str, ...]) -> Iterator[str]:
        """Yield conditions that part the rows of ``where`` by ``key`` into what one query can sort.

        ``key`` is a prefix of the table's order, so that each part of the table is read for one range only.
        """
        names = ", ".join(key)
        after = ""
        while True:
            ends = self._client.query(
                f"SELECT {names} FROM {self._table} WHERE {where}{after} "  # noqa: S608
                f"ORDER BY {names} LIMIT 1 OFFSET {_BUCKET_ROWS - 1}"
            ).result_rows
            if not ends:
                yield where + after
                return
            yield f"{where}{after} AND NOT {_beyond(key, ends[0])}"
            after = f" AND {_beyond(key, ends[0])}"

    def _buckets(self, where: str, key: str) -> Iterator[str]:
        """Yield conditions as ``_ranges`` does, for a key that the table is not ordered by."""
        count = self._client.query(f"SELECT count() FROM {self._table} WHERE {where}").result_rows[0][0]  # noqa: S608
        buckets = count // _BUCKET_ROWS + 1
        for bucket in range(buckets):
            yield f"{where} AND cityHash64({key}) % {buckets} = {bucket}"

    def _rows(self, columns: Iterable[str], where: str, order: str) -> Iterator[Sequence[Any]]:
        query = f"SELECT {', '.join(columns)} FROM {self._table} WHERE {where} ORDER BY {order}"  # noqa: S608
        with self._client.query_row_block_stream(query, settings=self._settings) as blocks:
            for block in blocks:
                yield from block

    def _bounds(self) -> str:
        each = (f"(partition = {partition} AND block <= {end})" for partition, end in self._ends.items())
        return f"({' OR '.join(each) or '0'})"

    def _read_ends(self) -> dict[int, int]:
        query = f"SELECT partition, max(block) FROM {self._table} GROUP BY partition"  # noqa: S608
        rows: Any = self._client.query(query).result_rows
        return {int(partition): int(block) for partition, block in rows}


def _beyond(key: tuple[str, ...], end: Sequence[str]) -> str:
    """Return the condition that ``key`` is greater than ``end``, in a form that the table's index answers."""
    condition = ""
    for name, value in reversed(tuple(zip(key, end, strict=True))):
        text = f"unhex('{value.encode().hex()}')"
        rest = f" OR ({name} = {text} AND {condition})" if condition else ""
        condition = f"({name} > {text}{rest})"
    return condition
