"""What an owner does, without Kafka: decide commands on lane states, seal, insert and read back blocks."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import sleep

from runlane.contract.codec import encode_outcome
from runlane.contract.commands import (
    AppendRunRecord,
    ClaimReceipt,
    ClaimRun,
    Command,
    CreateSession,
    RecordRunSuspension,
    RecordRunTerminal,
    StartChildRun,
    StartOneShotChildRun,
    StartOneShotRun,
    StartRootRun,
    operation_name,
)
from runlane.contract.decide import Decision, LaneState, Meta, decide
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.outcomes import Outcome
from runlane.contract.payloads import ChildRunLinked, RunCompleted, RunStarted, RunSuspended
from runlane.contract.state import Changes
from runlane.contract.values import RunRecord, RunStart, RunStatus, RunSuspension
from runlane.store.block import BlockHeader, BlockKind, Draft, LogId, SealedBlock, seal
from runlane.store.chain import ChainReader
from runlane.store.engine import ClientPool
from runlane.store.erase import Eraser
from runlane.store.lanes import LaneReader
from runlane.store.migrate import migrate
from runlane.store.rows import Answer
from runlane.store.writer import BlockWriter

NOON = datetime(2026, 3, 31, 23, 59, 0, 123456, tzinfo=UTC)
LOG = LogId("cluster", "topic")
FAR = datetime(2100, 1, 1, tzinfo=UTC)
PARTITIONS = 4


@dataclass
class Chain:
    """One partition as its owner knows it."""

    number: int
    head: BlockHeader | None = None
    position: int = -1
    epoch: int = 1
    generation: int = 0


class Chains(dict[int, Chain]):
    """Chains by partition, each begun when it is first named."""

    def __missing__(self, partition: int) -> Chain:
        self[partition] = Chain(partition)
        return self[partition]


class World:
    """A journal, its chains, and the lane states that its blocks describe."""

    def __init__(self, pool: ClientPool, *, window: int = 1_000_000) -> None:
        self.pool = pool
        self.journal_id = migrate(pool, window=window)
        self.writer = BlockWriter(pool, self.journal_id)
        self.chains = ChainReader(pool)
        self.lanes = LaneReader(pool)
        self.eraser = Eraser(pool)
        self.states: dict[str, LaneState] = {}
        self.partitions = Chains()
        self.now = NOON

    def decide(self, partition: int, *commands: tuple[str, Command]) -> list[tuple[Answer, Changes]]:
        """Decide commands as the next block of a partition would."""
        return [(answer, decision.changes) for answer, decision in self.decisions(partition, *commands)]

    def decisions(self, partition: int, *commands: tuple[str, Command]) -> list[tuple[Answer, Decision]]:
        chain = self.partitions[partition]
        number = 0 if chain.head is None else chain.head.number + 1
        meta = Meta(self.now, partition, number, host_authorized=True, receipt_valid=True)
        found: list[tuple[Answer, Decision]] = []
        for lane, command in commands:
            chain.position += 1
            state = self.states.setdefault(lane, LaneState(lane))
            decision = decide(state, command, meta)
            state.apply(decision.changes)
            found.append((self._answer(chain, number, lane, command, decision), decision))
        return found

    def _answer(self, chain: Chain, number: int, lane: str, command: Command, decision: Decision) -> Answer:
        correlation = f"c-{chain.number}-{chain.position}"
        outcome = Outcome(correlation, chain.number, chain.position, number, decision.result, decision.error)
        return Answer(
            position=chain.position,
            lane=lane,
            correlation_id=correlation,
            reply_partition=chain.position % 3,
            operation=operation_name(type(command)),
            code=decision.error.code if decision.error else "",
            outcome=encode_outcome(outcome),
        )

    def seal(
        self,
        partition: int,
        commands: Sequence[tuple[Answer, Changes]] = (),
        *,
        kind: BlockKind = BlockKind.COMMIT,
        nonce: str = "nonce",
    ) -> SealedBlock:
        """Seal what was decided as the partition's next block; it is not written."""
        chain = self.partitions[partition]
        draft = Draft(
            partition=partition,
            generation=chain.generation,
            kind=kind,
            epoch=chain.epoch,
            nonce=nonce,
            logic_version=1,
            log=LOG,
            base=0,
            partition_count=PARTITIONS,
            last=chain.position,
            tip_digest=b"tip" if commands else b"",
            watermark=-1 if chain.head is None else chain.head.last,
            time=self.now,
            commands=commands,
        )
        return seal(draft, chain.head)

    def write(self, block: SealedBlock) -> BlockHeader:
        """Insert a block and make it its chain's head; it must be the one that is in."""
        header = block.header
        self.writer.insert(block, FAR)
        tip = self.chains.tips({header.partition: header.number})[header.partition]
        assert (tip.number, tip.hash) == (header.number, header.hash)
        self.partitions[header.partition].head = header
        return header

    def commit(self, partition: int, *commands: tuple[str, Command]) -> BlockHeader:
        """Decide, seal and write one block."""
        return self.commit_decided(partition, self.decide(partition, *commands))

    def commit_decided(self, partition: int, commands: Sequence[tuple[Answer, Changes]]) -> BlockHeader:
        """Seal and write what was decided; the next block is a second later."""
        header = self.write(self.seal(partition, commands))
        self.now += timedelta(seconds=1)
        return header

    def claim(self, partition: int) -> BlockHeader:
        """Write a claim block."""
        return self.write(self.seal(partition, kind=BlockKind.CLAIM))

    def erase(self, lane: str) -> None:
        """Erase a purged lane, as often as it takes."""
        while not self.eraser.erase(lane):
            sleep(0.01)

    def session(self, partition: int, session_id: str) -> str:
        """Create a session and return its lane."""
        lane = session_lane(session_id)
        self.commit(partition, (lane, CreateSession(session_id, NOON)))
        return lane

    def start(self, partition: int, run: RunStart) -> None:
        """Claim a session's root run in partition 3, and start it."""
        lane = session_lane(run.session_id)
        self.commit(3, (run_lane(run.run_id), ClaimRun(run.run_id, lane)))
        self.commit(partition, (lane, a_root(run)))


def a_start(run_id: str, session_id: str = "", parent: str = "") -> RunStart:
    return RunStart(
        run_id=run_id,
        agent_id=f"agent-of-{run_id}",
        session_id=session_id,
        parent_run_id=parent,
        started_at=NOON.replace(microsecond=123000),
        labels={"team": "blué'\\", "a": "b"},
    )


def a_record(run: RunStart, key: str, kind: str, payload: bytes) -> RunRecord:
    return RunRecord(
        event_key=key,
        run_id=run.run_id,
        agent_id=run.agent_id,
        session_id=run.session_id,
        turn_id=f"turn of {key}",
        type=kind,
        payload=payload,
        timestamp=run.started_at,
    )


def receipt(run: RunStart, lane: str) -> ClaimReceipt:
    return ClaimReceipt(run.run_id, lane, 3, 0, "key", b"mac")


def started(run: RunStart) -> RunRecord:
    payload = RunStarted(parent_run_id=run.parent_run_id, labels=dict(run.labels)).encode()
    return a_record(run, f"{run.run_id}/started", "run_started", payload)


def canceled(run: RunStart) -> RunRecord:
    payload = RunCompleted.canceled("session_ended", labels=run.labels).encode()
    return a_record(run, f"{run.run_id}/canceled", "run_completed", payload)


def a_root(run: RunStart) -> StartRootRun:
    lane = session_lane(run.session_id)
    return replace(StartRootRun(run, started(run), canceled(run)), receipt=receipt(run, lane))


def a_link(parent: RunStart, child: RunStart) -> RunRecord:
    payload = ChildRunLinked(
        tool_name="search", tool_call_id="call", child_run_id=child.run_id, child_agent_id=child.agent_id
    ).encode()
    return a_record(parent, f"{child.run_id}/link", "child_run_linked", payload)


def a_child(parent: RunStart, child: RunStart) -> StartChildRun:
    command = StartChildRun(child, a_link(parent, child), started(child), canceled(child))
    return replace(command, receipt=receipt(child, session_lane(child.session_id)))


def a_shot(run: RunStart) -> StartOneShotRun:
    return StartOneShotRun(run, started(run))


def a_shot_child(parent: RunStart, child: RunStart) -> StartOneShotChildRun:
    command = StartOneShotChildRun(child, a_link(parent, child), started(child))
    return replace(command, receipt=receipt(child, run_lane(parent.run_id)))


def a_note(run: RunStart, number: int, payload: bytes | None = None) -> AppendRunRecord:
    body = f'{{"Note": "ünï\\\\code {number}", "n": 1e2}}'.encode() if payload is None else payload
    return AppendRunRecord(a_record(run, f"{run.run_id}/note-{number}", "planner_note", body))


def a_usage(run: RunStart, number: int, tokens: int) -> AppendRunRecord:
    body = json.dumps(
        {"Model": "m", "InputTokens": tokens, "OutputTokens": 2, "TotalTokens": tokens + 2}
    ).encode()
    return AppendRunRecord(a_record(run, f"{run.run_id}/usage-{number}", "usage", body))


def completed(run: RunStart) -> RecordRunTerminal:
    payload = RunCompleted.success(labels=run.labels).encode()
    record = a_record(run, f"{run.run_id}/end", "run_completed", payload)
    return RecordRunTerminal(run.run_id, RunStatus.COMPLETED, record)


def suspended(run: RunStart, data: bytes) -> RecordRunSuspension:
    payload = RunSuspended(suspension_id="cp", version="v7", pending_count=1).encode()
    record = a_record(run, f"{run.run_id}/suspended", "run_suspended", payload)
    return RecordRunSuspension(run.run_id, RunSuspension("cp", data), record)
