"""A sound journal for the verifier's tests: real decisions, sealed into blocks, kept as rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from runlane.contract.codec import encode_outcome
from runlane.contract.commands import (
    AppendRunRecord,
    ClaimReceipt,
    ClaimRun,
    Command,
    CreateSession,
    EndSession,
    PurgeSession,
    RecordRunCancellation,
    RecordRunSuspension,
    RecordRunTerminal,
    StartChildRun,
    StartOneShotChildRun,
    StartOneShotRun,
    StartRootRun,
)
from runlane.contract.decide import LaneState, Meta, decide
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.outcomes import Outcome
from runlane.contract.partitioner import partition_for
from runlane.contract.payloads import (
    CancellationIntent,
    ChildRunLinked,
    RunCompleted,
    RunStarted,
    RunSuspended,
)
from runlane.contract.state import Changes
from runlane.contract.values import RunRecord, RunStart, RunStatus, RunSuspension
from runlane.service.verify.rows import COLUMNS, Row
from runlane.store import rows as store_rows
from runlane.store.block import BlockHeader, BlockKind, Draft, LogId, seal
from runlane.store.rows import Answer

PARTITIONS = 2
NOON = datetime(2026, 3, 31, 23, 59, 0, tzinfo=UTC)
LOG = LogId("cluster", "topic")
Edit = Callable[[list[Row]], list[Row]]


def a_record(run: RunStart, key: str, kind: str, payload: bytes, at: datetime | None = None) -> RunRecord:
    return RunRecord(
        event_key=key,
        run_id=run.run_id,
        agent_id=run.agent_id,
        session_id=run.session_id,
        type=kind,
        payload=payload,
        timestamp=at or run.started_at,
    )


@dataclass
class Chain:
    number: int
    prev: BlockHeader | None = None
    epoch: int = 0
    position: int = -1
    pending: list[tuple[str, Command]] = field(default_factory=list)


@dataclass
class JournalMaker:
    """Decides commands as an owner would and keeps the rows of its blocks."""

    rows: list[Row] = field(default_factory=list)
    now: datetime = NOON
    lanes: dict[str, LaneState] = field(default_factory=dict)
    chains: list[Chain] = field(default_factory=lambda: [Chain(number) for number in range(PARTITIONS)])

    def claim_partitions(self) -> None:
        for chain in self.chains:
            chain.epoch += 1
            self._seal(chain, BlockKind.CLAIM, [])

    def submit(self, lane: str, *commands: Command) -> None:
        chain = self.chains[partition_for(lane.encode(), PARTITIONS)]
        chain.pending.extend((lane, command) for command in commands)

    def start(self, command: StartRootRun | StartChildRun | StartOneShotChildRun, lane: str) -> None:
        run_id = command.run.run_id
        self.submit(run_lane(run_id), ClaimRun(run_id, lane))
        self.commit()
        (claim,) = [row for row in self.rows if row.kind == "claim" and row.run_id == run_id]
        receipt = ClaimReceipt(run_id, lane, claim.partition, claim.block, "key", b"mac")
        self.submit(lane, replace(command, receipt=receipt))

    def commit(self) -> None:
        """Write what is pending, one block a partition."""
        self.now += timedelta(seconds=7)
        for chain in self.chains:
            if chain.pending:
                self._decide(chain)

    def _decide(self, chain: Chain) -> None:
        number = 0 if chain.prev is None else chain.prev.number + 1
        meta = Meta(self.now, chain.number, number, host_authorized=True, receipt_valid=True)
        commands: list[tuple[Answer, Changes]] = []
        for lane, command in chain.pending:
            chain.position += 1
            state = self.lanes.setdefault(lane, LaneState(lane))
            decision = decide(state, command, meta)
            state.apply(decision.changes)
            outcome = Outcome(
                f"c{chain.position}", chain.number, chain.position, number, decision.result, decision.error
            )
            code = decision.error.code if decision.error else ""
            operation = "claim_run" if isinstance(command, ClaimRun) else "other"
            run_id = command.run_id if isinstance(command, ClaimRun) else ""
            answer = Answer(
                position=chain.position,
                lane=lane,
                correlation_id=outcome.correlation_id,
                reply_partition=0,
                operation=operation,
                code=code,
                outcome=encode_outcome(outcome),
                run_id=run_id,
            )
            commands.append((answer, decision.changes))
        chain.pending.clear()
        self._seal(chain, BlockKind.COMMIT, commands)

    def _seal(self, chain: Chain, kind: BlockKind, commands: list[tuple[Answer, Changes]]) -> None:
        draft = Draft(
            partition=chain.number,
            generation=0,
            kind=kind,
            epoch=chain.epoch,
            nonce=f"nonce-{chain.epoch}",
            logic_version=1,
            log=LOG,
            base=0,
            partition_count=PARTITIONS,
            last=chain.position,
            tip_digest=b"tip" if commands else b"",
            watermark=-1 if chain.prev is None else chain.prev.last,
            time=self.now,
            commands=commands,
        )
        sealed = seal(draft, chain.prev)
        chain.prev = sealed.header
        self.rows.extend(_rows(sealed.columns))


def _rows(columns: store_rows.Columns) -> Iterable[Row]:
    found = [store_rows.COLUMNS.index(name) for name in COLUMNS]
    return map(Row._make, zip(*(columns[index] for index in found), strict=True))


def a_start(run_id: str, session_id: str = "", parent: str = "", predecessor: str = "") -> RunStart:
    return RunStart(
        run_id=run_id,
        agent_id="agent",
        session_id=session_id,
        parent_run_id=parent,
        predecessor_run_id=predecessor,
        started_at=NOON,
        labels={"team": "blué", "a": "b"} if not parent else {},
    )


def started(run: RunStart) -> RunRecord:
    payload = RunStarted(
        parent_run_id=run.parent_run_id,
        predecessor_run_id=run.predecessor_run_id,
        labels=dict(run.labels),
    )
    return a_record(run, f"{run.run_id}/started", "run_started", payload.encode())


def canceled(run: RunStart) -> RunRecord:
    payload = RunCompleted.canceled("session_ended", labels=run.labels)
    return a_record(run, f"{run.run_id}/canceled", "run_completed", payload.encode())


def linked(parent: RunStart, child: RunStart) -> RunRecord:
    payload = ChildRunLinked(
        tool_name="search", tool_call_id="call", child_run_id=child.run_id, child_agent_id="agent"
    )
    return a_record(parent, f"{child.run_id}/link", "child_run_linked", payload.encode())


def completed(run: RunStart, status: RunStatus = RunStatus.COMPLETED) -> RecordRunTerminal:
    payload = RunCompleted.success(labels=run.labels)
    return RecordRunTerminal(
        run.run_id, status, a_record(run, f"{run.run_id}/end", "run_completed", payload.encode())
    )


def note(run: RunStart, number: int) -> AppendRunRecord:
    payload = f'{{"Note": "ünïcode {number}", "n": 1e2}}'.encode()
    return AppendRunRecord(a_record(run, f"{run.run_id}/note-{number}", "planner_note", payload))


def _session_a(make: JournalMaker) -> None:
    lane = session_lane("a")
    root, child, next_run = (
        a_start("root", "a"),
        a_start("child", "a", "root"),
        a_start("next", "a", "", "root"),
    )
    make.submit(lane, CreateSession("a", NOON))
    make.start(StartRootRun(root, started(root), canceled(root)), lane)
    make.submit(lane, *(note(root, number) for number in range(3)))
    make.commit()
    make.submit(lane, note(root, 0), note(a_start("unknown", "a"), 1))
    make.start(StartChildRun(child, linked(root, child), started(child), canceled(child)), lane)
    intent = a_record(
        child, "child/cancel", "runtime.cancellation_intent", CancellationIntent(reason="stop").encode()
    )
    make.submit(lane, note(child, 1), RecordRunCancellation("child", "stop", intent), completed(child))
    make.commit()
    payload = RunSuspended(suspension_id="cp", version="v7", pending_count=1).encode()
    suspended = a_record(root, "root/suspended", "run_suspended", payload)
    make.submit(lane, RecordRunSuspension("root", RunSuspension("cp", bytes(range(256))), suspended))
    make.start(StartRootRun(next_run, started(next_run), canceled(next_run)), lane)
    usage = a_record(next_run, "usage", "usage", b'{"Model": "m", "InputTokens": 7, "TotalTokens": 9}')
    tool = a_record(next_run, "tool", "tool_call_scheduled", b'{"ToolName": "search"}')
    make.submit(lane, AppendRunRecord(usage), AppendRunRecord(tool), completed(next_run))
    make.commit()


def _session_b(make: JournalMaker) -> None:
    lane = session_lane("b")
    run = a_start("stopped", "b")
    make.submit(lane, CreateSession("b", NOON), EndSession("b", NOON + timedelta(microseconds=1)))
    make.start(StartRootRun(run, started(run), canceled(run)), lane)
    make.commit()


def _session_purged(make: JournalMaker) -> None:
    lane = session_lane("purged")
    run = a_start("secret", "purged")
    make.submit(lane, CreateSession("purged", NOON))
    make.start(StartRootRun(run, started(run), canceled(run)), lane)
    make.submit(lane, note(run, 1), completed(run), EndSession("purged", NOON))
    make.commit()
    make.submit(lane, PurgeSession("purged"))
    make.commit()
    make.submit(lane, CreateSession("purged", NOON))
    make.commit()


def _one_shots(make: JournalMaker) -> None:
    root, child = a_start("shot"), a_start("shot-child", parent="shot")
    lane = run_lane("shot")
    make.submit(lane, StartOneShotRun(root, started(root)), note(root, 1))
    make.start(StartOneShotChildRun(child, linked(root, child), started(child)), lane)
    make.submit(lane, completed(child), completed(root))
    make.commit()


def erase(rows: list[Row], lane: str) -> list[Row]:
    """Drop what the erase of a purged lane drops: all before the purge's answer, event and tombstone."""
    (stone,) = [row for row in rows if row.kind == "tombstone" and row.lane == lane]
    return [row for row in rows if row.lane != lane or (row.block, row.row) >= (stone.block, stone.row - 2)]


def sound_journal() -> list[Row]:
    """Return the rows of two chains with every kind of block and record, a purge and its erase included."""
    return erase(erase_nothing(), session_lane("purged"))


def erase_nothing() -> list[Row]:
    """Return the same journal before the purged lane was erased."""
    make = JournalMaker()
    make.claim_partitions()
    _session_a(make)
    make.claim_partitions()
    _session_b(make)
    _session_purged(make)
    _one_shots(make)
    return make.rows
