"""The tables of chains: how their blocks are inserted, and where their commit rows are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from runlane.store.rows import COLUMNS

if TYPE_CHECKING:
    from clickhouse_connect.datatypes.base import ClickHouseType

_LOW: Final = "LowCardinality(String)"
_TYPES: Final = {
    **dict.fromkeys(("part", "partition", "generation", "row", "size"), "UInt32"),
    **dict.fromkeys(("block", "lane_seq", "seq", "input_tokens", "output_tokens", "total_tokens"), "UInt64"),
    **dict.fromkeys(("time", "at", "position", "not_after"), "Int64"),
    **dict.fromkeys(("kind", "agent_id", "type", "status", "code", "tool", "model"), _LOW),
    "reply": "Int32",
}


@dataclass(frozen=True)
class ChainTable:
    """A table of chains: its columns in insert order, ``not_after`` last.

    ``commits`` selects its commit rows, which have ``body``, ``digest``, ``block`` and ``partition`` as the
    journal's; ``generations`` is the table of the chains' generations.
    """

    name: str
    columns: tuple[str, ...]
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    commits: str = "kind = 'commit' AND lane = '' AND lane_seq = 0 AND run_id = ''"
    generations: str = "chains"

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that hold integers."""
        return tuple(name for name in self.columns if "Int" in self.types.get(name, ""))

    @cached_property
    def column_types(self) -> list[ClickHouseType]:
        """The driver's types; naming them saves a DESCRIBE an insert."""
        from clickhouse_connect.datatypes.registry import get_from_name

        return [get_from_name(self.types.get(name, "String")) for name in self.columns]


JOURNAL: Final = ChainTable("journal", (*COLUMNS, "not_after"), _TYPES)
