"""A sound memory for the verifier's tests: real messages, sealed into blocks as a sink does, kept as rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from runlane.contract.codec import parse_command_headers
from runlane.contract.errors import InvalidCommand
from runlane.contract.memory import AppendMemory, DeleteMemory, PlannerNoteData
from runlane.contract.partitioner import partition_for
from runlane.contract.times import micros
from runlane.service.verify.memory_runs import RunRow
from runlane.service.verify.rows import MemoryRow
from runlane.store import drafts
from runlane.store.block import BlockHeader, BlockKind, Draft, LogId, head_of, seal_rows
from runlane.store.drafts import Adoption, Ownership
from runlane.store.memory import MemoryRows
from runlane.store.memory.deciding import Request, decide

PARTITIONS = 2
NOON = datetime(2026, 3, 31, 23, 59, 50, tzinfo=UTC)
LOG = LogId("cluster", "topic")
Rows = list[MemoryRow]
Command = AppendMemory | DeleteMemory | InvalidCommand


def run_of(partition: int) -> str:
    """Return a run whose messages lie in this partition."""
    names = (f"run-{number}" for number in range(100))
    return next(name for name in names if partition_for(name.encode(), PARTITIONS) == partition)


def append(agent: str, run: str, key: str, *texts: str) -> AppendMemory:
    return AppendMemory.of(
        agent, run, key, (PlannerNoteData(text).event(NOON, {"mood": "blué"}) for text in texts)
    )


@dataclass
class MemoryMaker:
    """Writes one partition's chain and keeps the rows of its blocks."""

    partition: int
    rows: Rows = field(default_factory=list[MemoryRow])
    head: BlockHeader | None = None
    generation: int = 0
    now: datetime = NOON
    known: dict[tuple[str, str, str], tuple[int, bytes]] = field(
        default_factory=dict[tuple[str, str, str], tuple[int, bytes]]
    )

    def claim(self) -> None:
        self._seal(drafts.claim(self._own(begins=True), self.head, LOG, self.now), ())

    def lose(self, messages: int) -> None:
        """Journal that messages are lost."""
        assert self.head is not None
        lost = Adoption(LOG, 0, self.head.last + messages, b"")
        self._seal(drafts.adopt(self._own(), self.head, lost, self.now), ())

    def commit(self, *commands: Command) -> None:
        head, own = self.head, self._own()
        assert head is not None
        self.now += timedelta(seconds=7)
        first = head.last + 1
        draft = Draft(
            partition=self.partition,
            generation=own.generation,
            kind=BlockKind.COMMIT,
            epoch=own.epoch,
            nonce=own.nonce,
            logic_version=1,
            log=LOG,
            base=0,
            partition_count=PARTITIONS,
            last=head.last + len(commands),
            tip_digest=b"tip",
            watermark=head.last,
            time=self.now,
        )
        headers = parse_command_headers([])
        self._seal(draft, [Request(first + n, headers, command) for n, command in enumerate(commands)])

    def _own(self, *, begins: bool = False) -> Ownership:
        epoch = begins + (self.head.epoch if self.head else 0)
        return Ownership(self.partition, self.generation, epoch, f"nonce-{epoch}", 1, PARTITIONS)

    def _seal(self, draft: Draft, requests: Sequence[Request]) -> None:
        rows = MemoryRows(head_of(draft, self.head), micros(draft.time))
        decide(requests, self.known, rows)
        block = seal_rows(draft, self.head, rows, commands=len(requests))
        self.head = block.header
        made = [MemoryRow._make(row) for row in zip(*block.columns, strict=True)]
        self.rows += made
        self.known |= {
            (row.agent_id, row.run_id, row.append_key): (row.position, bytes.fromhex(row.digest))
            for row in made
            if row.kind in {"append", "delete"}
        }


class MemoryInHand:
    """Rows, read as the verifier reads memory."""

    def __init__(self, rows: Rows) -> None:
        self._all = rows
        self.partitions = tuple(sorted({row.partition for row in rows}))

    def chain(self, partition: int) -> Iterator[MemoryRow]:
        rows = [row for row in self._all if row.partition == partition]
        return iter(sorted(rows, key=lambda row: (row.generation, row.block, row.row)))

    def runs(self) -> Iterator[RunRow]:
        rows = [row for row in self._all if row.kind in {"append", "delete", "event"}]
        rows.sort(key=lambda row: (row.agent_id, row.run_id, row.position))
        return (RunRow._make(getattr(row, name) for name in RunRow._fields) for row in rows)


def erased(rows: Rows) -> Rows:
    """Drop the events that an erase drops."""
    deleted: dict[str, int] = {}
    for row in rows:
        if row.kind == "delete":
            deleted[row.run] = max(row.position, deleted.get(row.run, -1))
    return [row for row in rows if row.kind != "event" or row.position > deleted.get(row.run, -1)]


def sound_memory() -> Rows:
    """Return two chains with every kind of block and row; what was deleted is not erased yet."""
    home, other = MemoryMaker(0), MemoryMaker(1)
    run = run_of(0)
    home.claim()
    home.commit(
        append("a", run, "k1", "one", "two"),
        append("b", run, "k1", "ünï"),
        InvalidCommand("no operation", code="memory_operation"),
        append("a", run, "k2", "three"),
    )
    # A repetition, a conflict, and an append on either side of a deletion, all in one block.
    home.commit(
        append("a", run, "k1", "one", "two"),
        append("a", run, "k2", "other"),
        append("a", run, "k3", "four", "five"),
        DeleteMemory("a", run, "d1"),
        append("a", run, "k4", "six", "seven"),
    )
    home.generation = 1
    home.claim()
    home.commit(append("a", run, "k5", "eight"), append("b", run, "k2", "nine", "ten"))
    home.lose(3)
    home.commit(append("c", run, "k", "eleven"))
    other.claim()
    other.commit(append("a", run_of(1), "k", "twelve", "thirteen"))
    other.commit(DeleteMemory("a", run_of(1), "d"), DeleteMemory("a", run_of(1), "again"))
    return home.rows + other.rows
