"""A journal filled without Kafka and without an owner: commands are decided, or answers made up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from bench.workload import AT
from runlane.contract.codec import encode_outcome
from runlane.contract.commands import AppendRunRecord, Command
from runlane.contract.decide import LaneState, Meta, decide
from runlane.contract.outcomes import AppendResult, Outcome
from runlane.contract.state import Changes, KeyEntry
from runlane.contract.values import CommittedRecord, SessionStatus
from runlane.store import connect, migrate
from runlane.store.block import BlockHeader, BlockKind, Draft, LogId, seal
from runlane.store.engine import ClientPool
from runlane.store.rows import Answer
from runlane.store.writer import BlockWriter

_DIGEST: Final = b"\0" * 16

Decided = tuple[Answer, Changes]


class Filler:
    """Writes one chain into a new journal in a directory."""

    def __init__(self, directory: str) -> None:
        self.pool: ClientPool = connect(f"chdb://{directory}")
        self._writer = BlockWriter(self.pool, migrate(self.pool))
        self._head: BlockHeader | None = None
        self._lanes: dict[str, LaneState] = {}

    @property
    def next_block(self) -> int:
        """The number of the next block."""
        return 0 if self._head is None else self._head.number + 1

    def decide(self, commands: Iterable[tuple[str, Command]]) -> None:
        """Decide commands and write them as one block; each must succeed."""
        meta = Meta(now=AT, partition=0, block=self.next_block)
        decided: list[Decided] = []
        for position, (lane, command) in enumerate(commands, self._position()):
            state = self._lanes.setdefault(lane, LaneState(lane))
            decision = decide(state, command, meta)
            if decision.error is not None:
                raise RuntimeError(f"a command was refused: {decision.error.code}")
            state.apply(decision.changes)
            decided.append((_answer(position, lane, meta.block), decision.changes))
        self._write(decided)

    def append(self, commands: Iterable[tuple[str, Command]]) -> None:
        """Write appends as one block with the rows of decided ones, while keeping nothing in memory."""
        self._write(list(_appended(commands, self._position(), self.next_block)))

    def _position(self) -> int:
        return 0 if self._head is None else self._head.last + 1

    def _write(self, decided: Sequence[Decided]) -> None:
        block = seal(
            Draft(
                partition=0,
                generation=0,
                kind=BlockKind.COMMIT,
                epoch=1,
                nonce="bench",
                logic_version=1,
                log=LogId("bench", "bench"),
                base=0,
                partition_count=1,
                last=self._position() + len(decided) - 1,
                tip_digest=b"",
                watermark=-1,
                time=AT,
                commands=decided,
            ),
            self._head,
        )
        self._writer.insert(block, datetime.now(UTC) + timedelta(minutes=1))
        self._head = block.header


def _appended(commands: Iterable[tuple[str, Command]], position: int, block: int) -> Iterator[Decided]:
    for number, (lane, command) in enumerate(commands, position):
        if not isinstance(command, AppendRunRecord) or command.record is None:
            continue
        record = command.record
        committed = CommittedRecord(
            lane=lane,
            lane_seq=number + 1,
            seq=number + 1,
            run_id=record.run_id,
            agent_id=record.agent_id,
            session_id=record.session_id,
            turn_id=record.turn_id,
            event_key=record.event_key,
            type=record.type,
            payload=record.payload,
            timestamp=record.timestamp or AT,
            committed_at=AT,
            session_status=SessionStatus.NONE,
            partition=0,
            block=block,
        )
        keys = ((record.run_id, record.event_key, KeyEntry(number + 1, _DIGEST)),)
        yield _answer(number, lane, block), Changes(records=(committed,), keys=keys)


def _answer(position: int, lane: str, block: int) -> Answer:
    name = f"{position:08d}"
    outcome = encode_outcome(Outcome(name, 0, position, block, AppendResult("1", True), None))
    return Answer(position, lane, name, 0, "append_run_record", "", outcome)
