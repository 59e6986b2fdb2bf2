"""Commands, and a chain that decides them and writes its blocks as an owner would."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from runlane.contract.commands import (
    AppendRunRecord,
    ClaimReceipt,
    ClaimRun,
    Command,
    CreateSession,
    EndSession,
    PurgeSession,
    RecordRunSuspension,
    RecordRunTerminal,
    StartOneShotRun,
    StartRootRun,
)
from runlane.contract.decide import LaneState, Meta, decide
from runlane.contract.ids import session_lane
from runlane.contract.payloads import RunCompleted, RunStarted, RunSuspended
from runlane.contract.state import NO_CHANGES, Changes
from runlane.contract.values import RunRecord, RunStart, RunStatus, RunSuspension
from runlane.store import (
    Answer,
    BlockHeader,
    BlockKind,
    BlockWriter,
    ChainReader,
    ClientPool,
    Draft,
    LogId,
    SealedBlock,
    seal,
)

AT = datetime(2026, 3, 14, 15, 9, 26, 535_000, UTC)
LABELS = {"team": "core", "tier": "gold ünïcode"}


def record(key: str, run: str, session: str = "s", *, type_: str = "planner_note", payload: bytes = b'{"Note":"n"}') -> RunRecord:
    return RunRecord(key, run, "agent", session, "turn-1", type_, payload, AT)


def start(run: str, session: str = "s", *, at: datetime = AT, agent: str = "agent") -> StartRootRun:
    about = RunStart(run, agent, session, started_at=at, labels=LABELS)
    started = RunStarted(labels=LABELS).encode()
    canceled = RunCompleted.canceled("session_ended", labels=LABELS).encode()
    return StartRootRun(
        about,
        RunRecord("started", run, agent, session, "", "run_started", started, at),
        RunRecord("canceled", run, agent, session, "", "run_completed", canceled, at),
        ClaimReceipt(run, session_lane(session), 0, 0, "k", b"m"),
    )


def one_shot(run: str) -> StartOneShotRun:
    about = RunStart(run, "agent", started_at=AT)
    return StartOneShotRun(about, RunRecord("started", run, "agent", "", "", "run_started", b"{}", AT))


def append(key: str, run: str, session: str = "s", *, type_: str = "planner_note", payload: bytes = b'{"Note":"n"}') -> AppendRunRecord:
    return AppendRunRecord(record(key, run, session, type_=type_, payload=payload))


def suspend(run: str, session: str = "s", data: bytes = b"\x00\xff checkpoint") -> RecordRunSuspension:
    payload = RunSuspended(suspension_id="cp").encode()
    return RecordRunSuspension(run, RunSuspension("cp", data), record("suspended", run, session, type_="run_suspended", payload=payload))


def complete(run: str, session: str = "s") -> RecordRunTerminal:
    payload = RunCompleted.success(labels=LABELS).encode()
    return RecordRunTerminal(run, RunStatus.COMPLETED, record("done", run, session, type_="run_completed", payload=payload))


def create(session: str = "s") -> CreateSession:
    return CreateSession(session, AT)


def end(session: str = "s") -> EndSession:
    return EndSession(session, AT + timedelta(microseconds=1))


def purge(session: str = "s") -> PurgeSession:
    return PurgeSession(session)


def claim(run: str, session: str = "s") -> ClaimRun:
    return ClaimRun(run, session_lane(session))


class Chain:
    """One partition's chain: decides on lanes in memory, so that what the journal gives back can be compared."""

    def __init__(self, pool: ClientPool, journal_id: str, *, partition: int = 0, epoch: int = 1) -> None:
        self.reader = ChainReader(pool)
        self.writer = BlockWriter(pool, journal_id)
        self.partition = partition
        self.head: BlockHeader | None = None
        self.generation = 0
        self.epoch = epoch
        self.lanes: dict[str, LaneState] = {}
        self.time = AT
        self.changes: list[Changes] = []

    def draft(self, commands: Sequence[tuple[str, Command]], *, kind: BlockKind = BlockKind.COMMIT) -> Draft:
        """Decide commands, each in its lane, and return the block that they make."""
        self.time += timedelta(milliseconds=7, microseconds=3)
        head = self.head
        first = 0 if head is None else head.last + 1
        number = 0 if head is None else head.number + 1
        meta = Meta(self.time, self.partition, number, host_authorized=True, receipt_valid=True)
        answers = [self._answer(first + i, lane, command, meta) for i, (lane, command) in enumerate(commands)]
        return Draft(
            partition=self.partition,
            generation=self.generation,
            kind=kind,
            epoch=self.epoch,
            nonce="nonce",
            logic_version=1,
            log=LogId("cluster", "topic"),
            base=0,
            partition_count=4,
            last=first + len(commands) - 1,
            tip_digest=b"digest",
            watermark=first - 1,
            time=self.time,
            commands=answers,
        )

    def seal(self, *commands: tuple[str, Command]) -> SealedBlock:
        return seal(self.draft(commands), self.head)

    def write(self, block: SealedBlock) -> BlockHeader:
        """Insert a sealed block, read it back, and go on from it."""
        now = self.reader.tips({self.partition: block.header.number}).get(self.partition)
        assert now is not None
        self.writer.insert(block, now.time + timedelta(minutes=1))
        tip = self.reader.tips({self.partition: block.header.number})[self.partition]
        assert (tip.number, tip.hash) == (block.header.number, block.header.hash)
        self.head = block.header
        return block.header

    def commit(self, *commands: tuple[str, Command]) -> BlockHeader:
        return self.write(self.seal(*commands))

    def _answer(self, position: int, lane: str, command: Command, meta: Meta) -> tuple[Answer, Changes]:
        state = self.lanes.setdefault(lane, LaneState(lane))
        decision = decide(state, command, meta)
        state.apply(decision.changes)
        self.changes.append(decision.changes)
        code = "" if decision.error is None else decision.error.code
        answer = Answer(
            position, lane, f"c-{position}", 3, type(command).__name__, code, b"\x00\xffoutcome", "", "", ""
        )
        return answer, decision.changes if not decision.changes.empty else NO_CHANGES
