"""The rows of memory: one layout for appends, their events, deletions and refusals.

Events go when a product deletes them; everything else stays, so that a repeated append is known again and
the chain still verifies. So each run's events have a digest of their own, and all other rows one together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

from runlane.contract.memory import AppendMemory, DeleteMemory, decode_event
from runlane.contract.times import micros
from runlane.store.rows import LANE_DIGEST_BYTES, Columns
from runlane.store.tables import ChainTable

_HEAD: Final = ("part", "partition", "generation", "block")
_DIGESTED: Final = (
    "row",
    "time",
    "kind",
    "agent_id",
    "run_id",
    "position",
    "append_key",
    "type",
    "at",
    "count",
    "labels",
    "digest",
    "body",
)
MEMORY: Final = ChainTable(
    "memory_events",
    (*_HEAD, *_DIGESTED, "not_after"),
    {
        **dict.fromkeys(("part", "partition", "generation", "row", "count"), "UInt32"),
        **dict.fromkeys(("time", "position", "at", "not_after"), "Int64"),
        **dict.fromkeys(("kind", "type"), "LowCardinality(String)"),
        "block": "UInt64",
    },
    commits="kind = 'commit' AND agent_id = '' AND run_id = ''",
    generations="memory_chains",
)
_DEFAULTS: Final[dict[str, Any]] = {name: 0 if name in MEMORY.numbers else "" for name in _DIGESTED[2:]}
_KEPT: Final = ""
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode

Row = tuple[Any, ...]


class MemoryRows:
    """Collects the rows of a block; ``head`` are part, partition, generation and number of it."""

    def __init__(self, head: tuple[int, int, int, int], time: int) -> None:
        self._head = head
        self._time = time
        self._rows: list[Row] = []
        self._lanes: dict[str, list[str]] = {}
        self._events = 0

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return len(self._rows)

    @property
    def records(self) -> int:
        """The number of events so far."""
        return self._events

    def add_append(self, position: int, command: AppendMemory) -> None:
        """Add an append and its events."""
        self._named("append", position, command, count=len(command.events), digest=command.digest.hex())
        for event in command.events:
            self._events += 1
            read = decode_event(event)
            self._add(
                f"{command.agent_id}\n{command.run_id}",
                kind="event",
                agent_id=command.agent_id,
                run_id=command.run_id,
                position=position,
                type=read.type.value,
                at=micros(read.timestamp),
                labels=_ENCODE(dict(read.labels or {})),
                body=event.decode(),
            )

    def add_delete(self, position: int, command: DeleteMemory) -> None:
        """Add a deletion."""
        self._named("delete", position, command)

    def add_refusal(self, position: int, code: str) -> None:
        """Add that a message was refused, and by which rule."""
        self._add(_KEPT, kind="refusal", position=position, type=code)

    def add_commit(self, body: str, hashed: bytes, *, kind: str, epoch: int, last: int) -> None:
        """Add the commit row: its header and its hash."""
        self._put(
            {
                "kind": "commit",
                "type": kind,
                "count": epoch,
                "position": last,
                "digest": hashed.hex(),
                "body": body,
            }
        )

    def lane_digests(self) -> tuple[tuple[str, bytes], ...]:
        """Return the digest of each run's events, and that of all other rows under an empty name."""
        return tuple((lane, _digest(self._lanes[lane])) for lane in sorted(self._lanes))

    def columns(self) -> Columns:
        """Return the rows as columns, in the order of the table's."""
        return tuple(zip(*self._rows, strict=True))

    def _named(self, kind: str, position: int, command: AppendMemory | DeleteMemory, **fields: Any) -> None:
        ids = {"agent_id": command.agent_id, "run_id": command.run_id, "append_key": command.key}
        self._add(_KEPT, kind=kind, position=position, **ids, **fields)

    def _add(self, lane: str, **fields: Any) -> None:
        self._lanes.setdefault(lane, []).append(_ENCODE(self._put(fields)))

    def _put(self, fields: dict[str, Any]) -> Row:
        values = (len(self._rows), self._time, *({**_DEFAULTS, **fields}.values()))
        self._rows.append((*self._head, *values))
        return values


def _digest(texts: Sequence[str]) -> bytes:
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=LANE_DIGEST_BYTES).digest()
