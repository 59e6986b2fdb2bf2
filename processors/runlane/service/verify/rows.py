"""The rows of chains as this verifier knows them, written down apart from the code that writes them.

A row's text is what its lane's digest covers; a commit row's body is what the block's hash covers
(design, Committing).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

LANE_DIGEST_BYTES: Final = 16


class Row(NamedTuple):
    """One row of the journal, as far as verification reads it. Instants are microseconds since 1970."""

    part: int
    partition: int
    generation: int
    block: int
    row: int
    time: int
    kind: str
    lane: str
    lane_seq: int
    run_id: str
    seq: int
    session_id: str
    agent_id: str
    turn_id: str
    parent_run_id: str
    event_key: str
    type: str
    at: int
    status: str
    code: str
    position: int
    correlation_id: str
    reply: int
    reason: str
    labels: str
    digest: str
    body: str
    tool: str
    model: str
    input_tokens: int
    output_tokens: int
    total_tokens: int

    @property
    def epoch(self) -> int:
        """The epoch that a commit row states."""
        return self.seq

    def text(self) -> str:
        """Return what the lane's digest covers: from the row's number to its body, as a JSON array."""
        return _TEXT.encode(self[_DIGESTED])

    def analysis(self) -> tuple[str | int, ...]:
        """Return the columns that analysts sum by, which no digest covers: they follow from the body."""
        return self[_ANALYSIS:]


class MemoryRow(NamedTuple):
    """One row of memory; instants are as a ``Row``'s. ``events`` is the column ``count``."""

    part: int
    partition: int
    generation: int
    block: int
    row: int
    time: int
    kind: str
    agent_id: str
    run_id: str
    position: int
    append_key: str
    type: str
    at: int
    events: int
    labels: str
    digest: str
    body: str

    @property
    def run(self) -> str:
        """Agent and run as one name, which no two pairs share: neither holds a control character."""
        return f"{self.agent_id}\n{self.run_id}"

    @property
    def lane(self) -> str:
        """The name of the digest that covers it: each run's events have one, all that never goes another."""
        return self.run if self.kind == "event" else ""

    @property
    def epoch(self) -> int:
        """The epoch that a commit row states."""
        return self.events

    def text(self) -> str:
        """Return what the lane's digest covers, as ``Row.text``."""
        return _TEXT.encode(self[_MEMORY_DIGESTED])


AnyRow: TypeAlias = Row | MemoryRow

COLUMNS: Final = Row._fields
MEMORY_COLUMNS: Final = tuple("count" if name == "events" else name for name in MemoryRow._fields)
_TEXT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_DIGESTED: Final = slice(COLUMNS.index("row"), COLUMNS.index("body") + 1)
_MEMORY_DIGESTED: Final = slice(MEMORY_COLUMNS.index("row"), None)
_ANALYSIS: Final = COLUMNS.index("tool")


@dataclass(frozen=True, slots=True)
class Header:
    """A commit row's body."""

    partition: int
    generation: int
    number: int
    kind: str
    epoch: int
    nonce: str
    logic_version: int
    cluster_id: str
    topic_id: str
    base: int
    partition_count: int
    first: int
    last: int
    tip_digest: str
    watermark: int
    commands: int
    records: int
    rows: int
    time: int
    part: int
    next_part: int
    prev_hash: str
    lane_digests: dict[str, str]
    hash: str

    @property
    def log(self) -> tuple[str, str, int]:
        """The log that the positions belong to, and its base."""
        return self.cluster_id, self.topic_id, self.base


def parse_header(body: str) -> Header:
    """Return a commit row's header with its hash computed anew; ``ValueError`` when it is none."""
    fields = json_object(body)
    try:
        digests = {str(lane): str(digest) for lane, digest in fields.pop("lane_digests")}
        return Header(**fields, lane_digests=digests, hash=hashlib.sha256(body.encode()).hexdigest())
    except (KeyError, TypeError):
        raise ValueError("fields are missing or unknown") from None


def digest_rows(texts: list[str]) -> str:
    """Return the digest of a lane's rows in one block."""
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=LANE_DIGEST_BYTES).hexdigest()


def json_object(text: str) -> dict[str, Any]:
    """Return a JSON object, empty for an empty text; ``ValueError`` for another value."""
    value: Any = json.loads(text) if text else {}
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - it is the text that is wrong, not a caller's type
    return dict[str, Any](value)  # pyright: ignore[reportUnknownArgumentType]
