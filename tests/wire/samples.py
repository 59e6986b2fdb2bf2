"""One named value of every kind that travels, and hypothesis strategies for all of them."""

from datetime import UTC, datetime
from typing import get_args

from hypothesis import strategies as st

from runlane.contract import commands as c
from runlane.contract import outcomes as o
from runlane.contract.errors import ErrorInfo
from runlane.contract.values import (
    CommittedRecord,
    RunRecord,
    RunStart,
    RunStatus,
    RunSuspension,
    Session,
    SessionStatus,
    StartOutcome,
)

AT = datetime(2026, 3, 4, 5, 6, 7, 890_000, tzinfo=UTC)
LATER = datetime(2026, 3, 4, 5, 6, 8, 123_456, tzinfo=UTC)
PAYLOAD = '{"Content": "größer ✓", "n": 12345678901234567890123, "x": 1.50}'.encode()

RECORD = RunRecord("run-1/ev-1", "run-1", "agent-a", "session-1", "turn-1", "tool_call", PAYLOAD, AT)
BARE_RECORD = RunRecord()
RUN = RunStart("run-1", "agent-a", "session-1", "run-0", "run-00", AT, {"team": "blue", "größe": ""})
RECEIPT = c.ClaimReceipt("run-1", "s/session-1", 11, 2**40, "key-1", bytes(range(32)))
SUSPENSION = RunSuspension("cp-1", bytes(range(256)))

COMMANDS: dict[str, c.Command] = {
    "claim_run": c.ClaimRun("run-1", "s/session-1"),
    "start_root_run": c.StartRootRun(RUN, RECORD, RECORD, RECEIPT),
    "start_root_run_bare": c.StartRootRun(RunStart(), None, None),
    "start_child_run": c.StartChildRun(RUN, RECORD, RECORD, RECORD, RECEIPT),
    "start_child_run_bare": c.StartChildRun(RunStart(), None, None, None),
    "start_one_shot_run": c.StartOneShotRun(RUN, RECORD),
    "start_one_shot_child_run": c.StartOneShotChildRun(RUN, RECORD, RECORD, RECEIPT),
    "append_run_record": c.AppendRunRecord(RECORD, "run-1/ev-0"),
    "append_run_record_bare": c.AppendRunRecord(None),
    "append_run_record_empty": c.AppendRunRecord(BARE_RECORD),
    "record_run_cancellation": c.RecordRunCancellation("run-1", "user asked", RECORD),
    "record_run_suspension": c.RecordRunSuspension("run-1", SUSPENSION, RECORD),
    "record_run_terminal": c.RecordRunTerminal("run-1", RunStatus.COMPLETED, RECORD),
    "record_run_terminal_unknown": c.RecordRunTerminal("run-1", "paused", None),
    "ensure_run_terminal": c.EnsureRunTerminal("run-1", RunStatus.FAILED, RECORD),
    "ensure_run_suspension": c.EnsureRunSuspension("run-1", SUSPENSION, RECORD),
    "create_session": c.CreateSession("session-1", LATER),
    "create_session_bare": c.CreateSession("", None),
    "end_session": c.EndSession("session-1", LATER),
    "purge_session": c.PurgeSession("session-1"),
}

ADDED = o.AppendResult("17", inserted=True, session_status=SessionStatus.ACTIVE)
KEPT = o.AppendResult("3", inserted=False, session_status=SessionStatus.ENDED)
RESULTS: dict[str, o.Result] = {
    "append": ADDED,
    "root_start": o.RootRunStartResult(StartOutcome.STOP, ADDED, KEPT),
    "child_start": o.ChildRunStartResult(StartOutcome.PROCEED, ADDED, KEPT),
    "one_shot_start": o.OneShotRunStartResult(ADDED),
    "one_shot_child_start": o.OneShotChildRunStartResult(ADDED, KEPT),
    "repair": o.RunRepairResult(o.RepairOutcome.ALREADY_STORED, RunStatus.SUSPENDED, KEPT),
    "session": o.SessionResult(Session("session-1", SessionStatus.ENDED, AT, LATER)),
    "session_active": o.SessionResult(Session("session-1", SessionStatus.ACTIVE, AT)),
    "purge": o.PurgeResult("session-1"),
    "claim": o.ClaimResult(RECEIPT, inserted=True),
}
ERROR = ErrorInfo("EventConflict", "event_conflict", "used", False, (("run_id", "run-1"), ("event_key", "k")))
OUTCOMES: dict[str, o.Outcome] = {
    name: o.Outcome("0f" * 16, 11, 2**50, 2**33, result, None) for name, result in RESULTS.items()
} | {"error": o.Outcome("c", 0, 0, 0, None, ERROR)}

RECORDS: dict[str, CommittedRecord] = {
    "record": CommittedRecord(
        lane="s/session-1",
        lane_seq=2**34,
        seq=12,
        run_id="run-1",
        agent_id="agent-a",
        session_id="session-1",
        turn_id="turn-1",
        event_key="run-1/ev-1",
        type="tool_call",
        payload=PAYLOAD,
        timestamp=AT,
        committed_at=LATER,
        session_status=SessionStatus.ACTIVE,
        partition=11,
        block=2**33,
    ),
    "lane_event": CommittedRecord(
        lane="s/session-1",
        lane_seq=1,
        seq=0,
        run_id="",
        agent_id="",
        session_id="session-1",
        turn_id="",
        event_key="session_created",
        type="session_created",
        payload=b'{"session_id":"session-1","at":"2026-03-04T05:06:08.123456Z"}',
        timestamp=LATER,
        committed_at=LATER,
        session_status=SessionStatus.ACTIVE,
        partition=0,
        block=0,
    ),
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
blobs = st.binary(max_size=60)
times = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive
longs = st.integers(-(2**63), 2**63 - 1)
ints = st.integers(-(2**31), 2**31 - 1)
records = st.builds(RunRecord, texts, texts, texts, texts, texts, texts, blobs, st.none() | times)
starts = st.builds(
    RunStart,
    texts,
    texts,
    texts,
    texts,
    texts,
    st.none() | times,
    st.dictionaries(texts, texts, max_size=3),
)
receipts = st.builds(c.ClaimReceipt, texts, texts, ints, longs, texts, blobs)
_optional = st.none() | records
_proof = st.none() | receipts
_suspensions = st.builds(RunSuspension, texts, blobs)
_status_texts = st.sampled_from(RunStatus) | texts
commands: st.SearchStrategy[c.Command] = st.one_of(
    st.builds(c.ClaimRun, texts, texts),
    st.builds(c.StartRootRun, starts, _optional, _optional, _proof),
    st.builds(c.StartChildRun, starts, _optional, _optional, _optional, _proof),
    st.builds(c.StartOneShotRun, starts, _optional),
    st.builds(c.StartOneShotChildRun, starts, _optional, _optional, _proof),
    st.builds(c.AppendRunRecord, _optional, texts),
    st.builds(c.RecordRunCancellation, texts, texts, _optional),
    st.builds(c.RecordRunSuspension, texts, _suspensions, _optional),
    st.builds(c.RecordRunTerminal, texts, _status_texts, _optional),
    st.builds(c.EnsureRunTerminal, texts, _status_texts, _optional),
    st.builds(c.EnsureRunSuspension, texts, _suspensions, _optional),
    st.builds(c.CreateSession, texts, st.none() | times),
    st.builds(c.EndSession, texts, st.none() | times),
    st.builds(c.PurgeSession, texts),
)

_session_statuses = st.sampled_from(SessionStatus)
_appends = st.builds(o.AppendResult, texts, st.booleans(), _session_statuses)
_outcomes = st.sampled_from(StartOutcome)
results: st.SearchStrategy[o.Result] = st.one_of(
    _appends,
    st.builds(o.RootRunStartResult, _outcomes, _appends, _appends),
    st.builds(o.ChildRunStartResult, _outcomes, _appends, _appends, _appends),
    st.builds(o.OneShotRunStartResult, _appends),
    st.builds(o.OneShotChildRunStartResult, _appends, _appends),
    st.builds(o.RunRepairResult, st.sampled_from(o.RepairOutcome), st.sampled_from(RunStatus), _appends),
    st.builds(o.SessionResult, st.builds(Session, texts, _session_statuses, times, st.none() | times)),
    st.builds(o.PurgeResult, texts),
    st.builds(o.ClaimResult, receipts, st.booleans()),
)
_details = st.lists(st.tuples(texts, texts), max_size=3).map(tuple)
errors = st.builds(ErrorInfo, texts, texts, texts, st.booleans(), _details)
outcomes = st.one_of(
    st.builds(o.Outcome, texts, ints, longs, longs, results, st.none()),
    st.builds(o.Outcome, texts, ints, longs, longs, st.none(), errors),
)
committed_records = st.builds(
    CommittedRecord,
    lane=texts,
    lane_seq=longs,
    seq=longs,
    run_id=texts,
    agent_id=texts,
    session_id=texts,
    turn_id=texts,
    event_key=texts,
    type=texts,
    payload=blobs,
    timestamp=times,
    committed_at=times,
    session_status=_session_statuses,
    partition=ints,
    block=longs,
)

COMMAND_KINDS: tuple[type[c.Command], ...] = tuple(
    kind for part in get_args(c.Command) for kind in (get_args(part) or (part,))
)
RESULT_KINDS: tuple[type[o.Result], ...] = get_args(o.Result)
