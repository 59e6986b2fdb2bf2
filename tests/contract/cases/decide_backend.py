"""The cases' first backend: lanes in memory and `decide`, routed as the client and the owners do together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from runlane.contract.commands import (
    ClaimReceipt,
    ClaimRun,
    Command,
    StartChildRun,
    StartOneShotChildRun,
    StartRootRun,
)
from runlane.contract.decide import LaneState, Meta, decide, home_lane
from runlane.contract.errors import (
    ContractError,
    ErrorInfo,
    RunNotFound,
    RunSuspensionNotFound,
    SessionNotFound,
    SessionPurged,
    WrongLane,
    from_info,
)
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.outcomes import ClaimResult, Result
from runlane.contract.paging import check_limit, cut_page, parse_cursor
from runlane.contract.state import Changes, SessionState
from runlane.contract.validate import validate_before_send
from runlane.contract.values import (
    CommittedRecord,
    Page,
    RunMeta,
    RunStatus,
    RunSuspension,
    Session,
    SessionStatus,
)
from tests.contract.cases.backend import Growth

CLOCK_START = datetime(2026, 3, 2, 12, tzinfo=UTC)


class DecideBackend:
    """All lanes of one partition. Each command is a block of its own, one second after the one before."""

    namespace = ""

    def __init__(self) -> None:
        self.lanes: dict[str, LaneState] = {}
        self.records: list[CommittedRecord] = []
        self.checkpoints: dict[str, RunSuspension] = {}
        self.block = 0
        self._written = Growth(0, 0)

    def execute(self, command: Command) -> Result:
        refused_early = _refusal(command)
        if refused_early is not None:
            decision = self._decide(home_lane(command), command)
            assert decision == refused_early, "the client may refuse only what the owner refuses the same way"
            raise from_info(refused_early)
        lane = home_lane(command)
        if isinstance(command, StartRootRun | StartChildRun | StartOneShotChildRun):
            if isinstance(command, StartOneShotChildRun):
                lane = self._lane_of(command.run.parent_run_id)
            command = replace(command, receipt=self._claim(command.run.run_id, lane))
        try:
            return self._run(lane, command)
        except WrongLane as wrong:
            return self._run(wrong.lane, command)

    def journal_growth(self) -> Growth:
        written, self._written = self._written, Growth(0, 0)
        return written

    def load_run(self, run_id: str) -> RunMeta:
        run = self.lane(self._lane_of(run_id)).run(run_id)
        if run is None:
            raise RunNotFound("the run is unknown")
        return run.meta()

    def load_run_suspension(self, run_id: str) -> RunSuspension:
        self.load_run(run_id)
        if run_id not in self.checkpoints:
            raise RunSuspensionNotFound("the run has no checkpoint")
        return self.checkpoints[run_id]

    def load_session(self, session_id: str) -> Session:
        return _session(self.lane(session_lane(session_id)).session)

    def load_session_status(self, session_id: str) -> SessionStatus:
        return self.load_session(session_id).status

    def list_runs_by_session(self, session_id: str, statuses: Sequence[RunStatus] = ()) -> Sequence[RunMeta]:
        lane = self.lane(session_lane(session_id))
        _session(lane.session)
        return [run.meta() for run in lane.runs() if not statuses or run.status in statuses]

    def list_run_records(self, run_id: str, cursor: str, limit: int) -> Page:
        limit, after = check_limit(limit), parse_cursor(cursor)
        self.load_run(run_id)
        later = (record for record in self.records if record.run_id == run_id and record.seq > after)
        return cut_page(later, limit, lambda record: record.seq)

    def list_session_run_records(self, session_id: str, cursor: str, limit: int) -> Page:
        limit, after = check_limit(limit), parse_cursor(cursor)
        lane = session_lane(session_id)
        _session(self.lane(lane).session)
        later = (
            record
            for record in self.records
            if record.lane == lane and record.run_id and record.lane_seq > after
        )
        return cut_page(later, limit, lambda record: record.lane_seq)

    def lane(self, name: str) -> LaneState:
        return self.lanes.setdefault(name, LaneState(name))

    def _lane_of(self, run_id: str) -> str:
        claim = self.lane(run_lane(run_id)).claim(run_id)
        return run_lane(run_id) if claim is None else claim.lane

    def _claim(self, run_id: str, lane: str) -> ClaimReceipt:
        result = self._run(run_lane(run_id), ClaimRun(run_id, lane))
        assert isinstance(result, ClaimResult)
        return replace(result.receipt, key_id="key", mac=b"true")

    def _run(self, lane: str, command: Command) -> Result:
        self.block += 1
        view = self.lane(lane)
        decision = decide(view, command, self._meta())
        assert (decision.result is None) == (decision.error is not None)
        if decision.error is not None:
            assert decision.changes.empty, "a refusal writes nothing"
            raise from_info(decision.error)
        assert decision.result is not None
        view.apply(decision.changes)
        self._write(lane, decision.changes)
        return decision.result

    def _decide(self, lane: str, command: Command) -> ErrorInfo | None:
        return decide(self.lane(lane), command, self._meta()).error

    def _meta(self) -> Meta:
        now = CLOCK_START + timedelta(seconds=self.block)
        return Meta(now, partition=0, block=self.block, host_authorized=True, receipt_valid=True)

    def _write(self, lane: str, changes: Changes) -> None:
        if changes.purged:
            gone = {record.run_id for record in self.records if record.lane == lane}
            self.records = [record for record in self.records if record.lane != lane]
            self.checkpoints = {run: kept for run, kept in self.checkpoints.items() if run not in gone}
        self.records.extend(changes.records)
        if changes.checkpoint is not None:
            self.checkpoints[changes.checkpoint.run_id] = changes.checkpoint.suspension
        states = len(changes.runs) + (changes.session is not None) + (changes.checkpoint is not None)
        self._written = Growth(self._written.records + len(changes.records), self._written.states + states)


def _refusal(command: Command) -> ErrorInfo | None:
    try:
        validate_before_send(command)
    except ContractError as refused:
        return refused.info()
    return None


def _session(state: SessionState | None) -> Session:
    if state is None:
        raise SessionNotFound("the session is unknown")
    if state.session is None:
        raise SessionPurged("the session was purged")
    return state.session
