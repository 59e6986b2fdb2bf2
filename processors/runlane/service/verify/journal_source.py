"""The rows of the journal, in the orders in which they are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from runlane.service.verify.fold import LIFECYCLE
from runlane.service.verify.report import JOURNAL
from runlane.service.verify.rows import COLUMNS, Row
from runlane.service.verify.source import QueryClient, TableSource

_LIFECYCLE: Final = ", ".join(f"'{kind}'" for kind in LIFECYCLE)
_NARROW_BODY: Final = (
    "multiIf(kind = 'checkpoint', lower(hex(SHA256(tryBase64Decode(body)))), "
    f"kind = 'record' AND type NOT IN ({_LIFECYCLE}), '', body) AS body"
)
_NARROW: Final = tuple(_NARROW_BODY if name == "body" else name for name in COLUMNS)


class JournalSource(Protocol):
    """The rows of a journal, in the orders in which they are judged."""

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
        """Yield the rows that make states, grouped by lane, in block and row order.

        A checkpoint's body is its digest.
        """
        ...

    def claims(self) -> Iterator[Row]:
        """Yield claims, starts and the answers to claims, grouped by run id."""
        ...


class JournalTable(TableSource):
    """Implements ``JournalSource`` over the table; all reads but ``purges`` end at the same blocks."""

    def __init__(self, client: QueryClient) -> None:
        super().__init__(client, JOURNAL)

    def purges(self) -> Mapping[str, tuple[int, int]]:
        """As ``JournalSource.purges``."""
        query = f"SELECT lane, min((block, row)) FROM {JOURNAL} WHERE kind = 'tombstone' GROUP BY lane"  # noqa: S608
        return {lane: (block, row) for lane, (block, row) in self._client.query(query).result_rows}

    def chain(self, partition: int) -> Iterator[Row]:
        """As ``JournalSource.chain``."""
        return map(Row._make, self._chain(partition, COLUMNS))

    def lanes(self) -> Iterator[Row]:
        """As ``JournalSource.lanes``."""
        kinds = f"kind NOT IN ('answer', 'commit', 'tombstone') AND {self._bounds()}"
        for lanes in self._ranges(kinds, ("lane",)):
            yield from map(Row._make, self._rows(_NARROW, lanes, "lane, partition, block, row"))

    def claims(self) -> Iterator[Row]:
        """As ``JournalSource.claims``."""
        kinds = (
            "(kind = 'claim' OR (kind = 'record' AND type = 'run_started')"
            f" OR (kind = 'answer' AND type = 'claim_run' AND code = '')) AND {self._bounds()}"
        )
        for runs in self._buckets(kinds, "run_id"):
            yield from map(Row._make, self._rows(COLUMNS, runs, "run_id, partition, block, row"))
