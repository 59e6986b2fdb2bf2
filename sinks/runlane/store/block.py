"""Blocks: what one owner commit writes, how its rows are digested and how it is chained to the block before.

A block is drafted (what was decided), then sealed (numbered, hashed, laid out as the columns of one native
block). The hash covers the header and one digest per lane, so that a purged lane's rows can go and the chain
still verifies (design, Committing; ClickHouse).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Protocol, cast

from runlane.contract.state import Changes
from runlane.contract.times import EPOCH, micros
from runlane.store.rows import Answer, Columns, RowBuilder

FIRST_PART: Final = 0
"""The ClickHouse partition value of block 0, whatever its time."""
NO_HASH: Final = b""
TIP_DIGEST_BYTES: Final = 16


class BlockKind(StrEnum):
    """A claim opens an ownership, a commit decides commands, an adoption journals a base or a lost range.

    An operator's adoption opens an ownership too: it has the next epoch, an owner's own one has its owner's.
    """

    CLAIM = "claim"
    COMMIT = "commit"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True)
class LogId:
    """One life of a commands topic."""

    cluster_id: str
    topic_id: str


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """A block's commit row.

    ``first`` to ``last`` are the positions it decides, contiguous with the block before; a block that decides
    none has ``last = first - 1``. ``tip_digest`` is that of the last decided command, empty when the log was
    adopted since. ``watermark`` is the last position known to be sent when it was written. ``part`` is its
    ClickHouse partition value.
    """

    partition: int
    generation: int
    number: int
    kind: BlockKind
    epoch: int
    nonce: str
    logic_version: int
    log: LogId
    base: int
    partition_count: int
    first: int
    last: int
    tip_digest: bytes
    watermark: int
    commands: int
    records: int
    rows: int
    time: datetime
    part: int
    next_part: int
    prev_hash: bytes
    lane_digests: tuple[tuple[str, bytes], ...]
    hash: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """A block before it is numbered: ``commands`` are the answers in order, each with its changes."""

    partition: int
    generation: int
    kind: BlockKind
    epoch: int
    nonce: str
    logic_version: int
    log: LogId
    base: int
    partition_count: int
    last: int
    tip_digest: bytes
    watermark: int
    time: datetime
    commands: Sequence[tuple[Answer, Changes]] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it is inserted: one native block of ``columns``, in the order of its table's."""

    header: BlockHeader
    columns: Columns


@dataclass(frozen=True, slots=True)
class SealedBlock(Block):
    """A block of the journal, and what it was sealed from."""

    draft: Draft


class Rows(Protocol):
    """The rows of a block while they are collected; each is in a lane, but the commit row."""

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        ...

    @property
    def records(self) -> int:
        """The number of records so far."""
        ...

    def add_commit(self, body: str, hashed: bytes, *, kind: str, epoch: int, last: int) -> None:
        """Add the commit row, the last one."""
        ...

    def lane_digests(self) -> tuple[tuple[str, bytes], ...]:
        """Return the digest of each lane's rows, sorted by lane."""
        ...

    def columns(self) -> Columns:
        """Return the rows as columns, in the order of the table's."""
        ...


def message_digest(key: bytes | None, value: bytes | None) -> bytes:
    """Return the digest by which the message at a chain's tip is known again."""
    digest = hashlib.blake2b(digest_size=TIP_DIGEST_BYTES)
    for part in (key, value):
        digest.update(b"-" if part is None else b"%d:" % len(part))
        digest.update(part or b"")
    return digest.digest()


def part_of(time: datetime) -> int:
    """Return the ClickHouse partition value of a time: its month."""
    return time.year * 100 + time.month


def seal(draft: Draft, prev: BlockHeader | None) -> SealedBlock:
    """Number, digest and lay out ``draft`` as the block after ``prev``; None for a partition's first block.

    The partition value is the one that ``prev`` named; the one named for the next block never falls.
    """
    builder = RowBuilder(head_of(draft, prev), micros(draft.time))
    for answer, changes in draft.commands:
        builder.add_command(answer, changes)
    builder.add_states()
    block = seal_rows(draft, prev, builder, commands=len(draft.commands))
    return SealedBlock(block.header, block.columns, draft)


def head_of(draft: Draft, prev: BlockHeader | None) -> tuple[int, int, int, int]:
    """Return what each row of the block after ``prev`` has in common: part, partition, generation, number."""
    number = 0 if prev is None else prev.number + 1
    part = FIRST_PART if prev is None else prev.next_part
    return part, draft.partition, draft.generation, number


def seal_rows(draft: Draft, prev: BlockHeader | None, builder: Rows, *, commands: int) -> Block:
    """Seal the rows of a block of any table of chains, in place of ``draft.commands``; as ``seal``."""
    part, _, _, number = head_of(draft, prev)
    header = BlockHeader(
        partition=draft.partition,
        generation=draft.generation,
        number=number,
        kind=draft.kind,
        epoch=draft.epoch,
        nonce=draft.nonce,
        logic_version=draft.logic_version,
        log=draft.log,
        base=draft.base,
        partition_count=draft.partition_count,
        first=0 if prev is None else prev.last + 1,
        last=draft.last,
        tip_digest=draft.tip_digest,
        watermark=draft.watermark,
        commands=commands,
        records=builder.records,
        rows=builder.rows + 1,
        time=draft.time,
        part=part,
        next_part=max(part, part_of(draft.time)),
        prev_hash=NO_HASH if prev is None else prev.hash,
        lane_digests=builder.lane_digests(),
        hash=NO_HASH,
    )
    body = header_body(header)
    hashed = hashlib.sha256(body.encode()).digest()
    builder.add_commit(body, hashed, kind=draft.kind, epoch=draft.epoch, last=draft.last)
    return Block(_with_hash(header, hashed), builder.columns())


def header_body(header: BlockHeader) -> str:
    """Return the canonical JSON of a header without its hash; the block's hash is its SHA-256."""
    fields: dict[str, Any] = {
        name: _plain(getattr(header, name)) for name in BlockHeader.__slots__ if name not in ("hash", "log")
    }
    fields["cluster_id"] = header.log.cluster_id
    fields["topic_id"] = header.log.topic_id
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def parse_header(body: str) -> BlockHeader:
    """Return the header of a commit row's body, its hash computed anew; ``ValueError`` on another text.

    A reader compares the hash with the one that the row states.
    """
    fields: Mapping[str, Any] = json.loads(body)
    try:
        return BlockHeader(
            **{name: fields[name] for name in _NUMBERS},
            kind=BlockKind(fields["kind"]),
            nonce=fields["nonce"],
            log=LogId(fields["cluster_id"], fields["topic_id"]),
            tip_digest=bytes.fromhex(fields["tip_digest"]),
            time=EPOCH + timedelta(microseconds=fields["time"]),
            prev_hash=bytes.fromhex(fields["prev_hash"]),
            lane_digests=tuple((lane, bytes.fromhex(digest)) for lane, digest in fields["lane_digests"]),
            hash=hashlib.sha256(body.encode()).digest(),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not the body of a commit row ({type(error).__name__})") from None


_NUMBERS: Final = (
    "partition",
    "generation",
    "number",
    "epoch",
    "logic_version",
    "base",
    "partition_count",
    "first",
    "last",
    "watermark",
    "commands",
    "records",
    "rows",
    "part",
    "next_part",
)


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return value.hex()
        case datetime():
            return micros(value)
        case tuple():
            return [[lane, digest.hex()] for lane, digest in cast("tuple[tuple[str, bytes], ...]", value)]
        case _:
            return value


def _with_hash(header: BlockHeader, hashed: bytes) -> BlockHeader:
    fields: dict[str, Any] = {name: getattr(header, name) for name in BlockHeader.__slots__}
    fields["hash"] = hashed
    return BlockHeader(**fields)
