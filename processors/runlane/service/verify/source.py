"""How rows come out of ClickHouse: streamed, sorted there, up to the blocks there are at the start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from runlane.service.verify.fold import LIFECYCLE
from runlane.service.verify.rows import COLUMNS, Row

_SETTINGS: Final = {
    "max_block_size": 8192,
    "max_threads": 2,
    "max_bytes_before_external_sort": 256 * 1024 * 1024,
    "preferred_block_size_bytes": 4 * 1024 * 1024,
}
_ROW_BYTES: Final = 256
_WINDOW_BYTES: Final = 128 * 1024 * 1024
_BUCKET_ROWS: Final = 100_000
_LIFECYCLE: Final = ", ".join(f"'{kind}'" for kind in LIFECYCLE)
_NARROW_BODY: Final = (
    "multiIf(kind = 'checkpoint', lower(hex(SHA256(tryBase64Decode(body)))), "
    f"kind = 'record' AND type NOT IN ({_LIFECYCLE}), '', body) AS body"
)


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


class Source(Protocol):
    """The rows of a journal, in the orders in which they are judged; see ``JournalSource``."""

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions that have blocks."""
        ...

    def purges(self) -> Mapping[str, tuple[int, int]]:
        """Return the purged lanes of this moment with block and row of their tombstones."""
        ...

    def chain(self, partition: int) -> Iterator[Row]:
        """Yield all rows of a partition in generation, block and row order."""
        ...

    def lanes(self) -> Iterator[Row]:
        """Yield the rows that make states, grouped by lane; a checkpoint's body is its digest."""
        ...

    def claims(self) -> Iterator[Row]:
        """Yield claims, starts and the answers to claims, grouped by run id."""
        ...


class JournalSource:
    """Reads one journal table; all reads but ``purges`` end at the same blocks, whatever an owner adds."""

    def __init__(self, client: QueryClient, table: str = "journal") -> None:
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

    def purges(self) -> Mapping[str, tuple[int, int]]:
        """Return the purged lanes of this moment with block and row of their tombstones."""
        query = f"SELECT lane, min((block, row)) FROM {self._table} WHERE kind = 'tombstone' GROUP BY lane"  # noqa: S608
        return {lane: (block, row) for lane, (block, row) in self._client.query(query).result_rows}

    def chain(self, partition: int) -> Iterator[Row]:
        """Yield all rows of a partition in generation, block and row order."""
        for generation, first, last in self._windows(partition):
            blocks = f"generation = {generation} AND block BETWEEN {first} AND {last}"
            yield from self._rows(f"partition = {partition} AND {blocks}", "block, row")

    def lanes(self) -> Iterator[Row]:
        """Yield the rows that make states, grouped by lane, in block and row order.

        A checkpoint's body is its digest.
        """
        kinds = "kind NOT IN ('answer', 'commit', 'tombstone')"
        for bucket in self._buckets(kinds, "lane"):
            yield from self._rows(bucket, "lane, partition, block, row", _NARROW_BODY)

    def claims(self) -> Iterator[Row]:
        """Yield claims, starts and the answers to claims, grouped by run id."""
        kinds = (
            "(kind = 'claim' OR (kind = 'record' AND type = 'run_started')"
            " OR (kind = 'answer' AND type = 'claim_run' AND code = ''))"
        )
        for bucket in self._buckets(kinds, "run_id"):
            yield from self._rows(bucket, "run_id, partition, block, row")

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

    def _buckets(self, kinds: str, key: str) -> Iterator[str]:
        """Yield conditions that part the rows of ``kinds`` by ``key`` into what one query can sort."""
        where = f"{kinds} AND {self._bounds()}"
        count = self._client.query(f"SELECT count() FROM {self._table} WHERE {where}").result_rows[0][0]  # noqa: S608
        buckets = count // _BUCKET_ROWS + 1
        for bucket in range(buckets):
            yield f"{where} AND cityHash64({key}) % {buckets} = {bucket}"

    def _rows(self, where: str, order: str, body: str = "body") -> Iterator[Row]:
        columns = ", ".join(body if name == "body" else name for name in COLUMNS)
        query = f"SELECT {columns} FROM {self._table} WHERE {where} ORDER BY {order}"  # noqa: S608
        with self._client.query_row_block_stream(query, settings=self._settings) as blocks:
            for block in blocks:
                yield from map(Row._make, block)

    def _bounds(self) -> str:
        each = (f"(partition = {partition} AND block <= {end})" for partition, end in self._ends.items())
        return f"({' OR '.join(each) or '0'})"

    def _read_ends(self) -> dict[int, int]:
        query = f"SELECT partition, max(block) FROM {self._table} GROUP BY partition"  # noqa: S608
        rows: Any = self._client.query(query).result_rows
        return {int(partition): int(block) for partition, block in rows}
