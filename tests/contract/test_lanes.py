"""Which lane decides a command, who may give it, and what a claim is worth (design, Run ids)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from runlane.contract.commands import ClaimReceipt, ClaimRun, Command
from runlane.contract.decide import Decision, LaneState, Meta, decide, home_lane, named_keys
from runlane.contract.errors import ErrorInfo, NotPermitted, OutOfOrder, RunConflict, RunNotFound, WrongLane
from runlane.contract.outcomes import ClaimResult
from runlane.contract.state import RunClaim
from tests.contract.cases.world import Make, edit

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
META = Meta(NOW, partition=3, block=7, host_authorized=True, receipt_valid=True)
MAKE = Make("")


def receipt(run: str, lane: str) -> ClaimReceipt:
    return ClaimReceipt(run, lane, 3, 7, "key", b"mac")


def given(lane: str, *commands: Command) -> LaneState:
    """A lane in which these commands succeeded."""
    state = LaneState(lane)
    for command in commands:
        decision = decide(state, command, META)
        assert decision.error is None
        state.apply(decision.changes)
    return state


ROOT = replace(MAKE.root(), receipt=receipt("run", "s/session"))
SESSION = given("s/session", MAKE.create(), ROOT)
CLAIMED = given("r/run", ClaimRun("run", "s/session"))


def refusal(decision: Decision) -> ErrorInfo:
    assert decision.error is not None
    assert decision.result is None
    assert decision.changes.empty
    return decision.error


RUN_KEYED: list[Command] = [
    MAKE.append(),
    MAKE.cancel(),
    MAKE.suspend(),
    MAKE.end(),
    MAKE.ensure_end(),
    MAKE.ensure_suspended(),
]
HOST: list[Command] = [MAKE.create("other"), MAKE.end_session(), MAKE.purge()]


@pytest.mark.parametrize("command", RUN_KEYED, ids=lambda command: type(command).__name__)
def test_a_run_keyed_command_is_sent_on_from_the_lane_of_its_claim(command: Command) -> None:
    assert home_lane(command) == "r/run"
    error = refusal(decide(CLAIMED, command, META))
    assert (error.name, error.details) == (WrongLane.__name__, (("lane", "s/session"),))
    assert decide(SESSION, command, META).error is None


@pytest.mark.parametrize("command", RUN_KEYED, ids=lambda command: type(command).__name__)
def test_a_run_without_a_claim_or_in_another_lane_is_unknown(command: Command) -> None:
    for lane in (LaneState("r/run"), LaneState("r/other"), LaneState("s/other")):
        assert refusal(decide(lane, command, META)).name == RunNotFound.__name__


def test_a_run_that_is_claimed_but_was_never_started_is_unknown() -> None:
    lane = given("r/run", ClaimRun("run", "r/run"))
    assert refusal(decide(lane, MAKE.append(), META)).name == RunNotFound.__name__


@pytest.mark.parametrize(
    "command", [MAKE.root(), MAKE.child(), *HOST], ids=lambda command: type(command).__name__
)
def test_starts_and_host_commands_belong_to_their_sessions_lane(command: Command) -> None:
    error = refusal(decide(LaneState("s/elsewhere"), command, META))
    assert (error.name, error.details) == (WrongLane.__name__, (("lane", home_lane(command)),))


def test_a_sessionless_start_belongs_to_its_own_lane() -> None:
    error = refusal(decide(LaneState("r/other"), MAKE.one_shot(), META))
    assert (error.name, error.details) == (WrongLane.__name__, (("lane", "r/run"),))


def test_a_sessionless_child_is_sent_on_to_its_parents_lane() -> None:
    command = MAKE.one_shot_child()
    assert home_lane(command) == "r/run"
    error = refusal(decide(CLAIMED, command, META))
    assert (error.name, error.details) == (WrongLane.__name__, (("lane", "s/session"),))


@pytest.mark.parametrize("command", HOST, ids=lambda command: type(command).__name__)
def test_a_host_command_needs_a_host(command: Command) -> None:
    meta = replace(META, host_authorized=False)
    assert refusal(decide(SESSION, command, meta)).name == NotPermitted.__name__


@pytest.mark.parametrize(
    ("proof", "true"),
    [
        (receipt("second", "s/session"), False),
        (receipt("other", "s/session"), True),
        (receipt("second", "s/other"), True),
        (None, True),
    ],
)
def test_a_start_needs_a_true_receipt_of_its_run_and_lane(proof: ClaimReceipt | None, true: bool) -> None:
    meta = replace(META, receipt_valid=true)
    for command in (MAKE.root("second"), MAKE.child("second")):
        decision = decide(SESSION, replace(command, receipt=proof), meta)
        assert refusal(decision).name == NotPermitted.__name__
    one_shot = given("r/run", MAKE.one_shot())
    child = replace(MAKE.one_shot_child("second"), receipt=proof)
    assert refusal(decide(one_shot, child, meta)).name == NotPermitted.__name__


def test_a_claim_is_for_ever() -> None:
    lane = LaneState("r/run")
    first = decide(lane, ClaimRun("run", "s/session"), META)
    unsigned = ClaimReceipt("run", "s/session", 3, 7, "", b"")
    assert first.result == ClaimResult(unsigned, inserted=True)
    assert first.changes.claim == RunClaim("run", "s/session", 7)
    assert first.changes.records == ()
    lane.apply(first.changes)
    again = decide(lane, ClaimRun("run", "s/session"), replace(META, block=90))
    assert again.result == ClaimResult(unsigned, inserted=False), "the receipt names the block of the claim"
    assert again.changes.empty
    assert refusal(decide(lane, ClaimRun("run", "s/other"), META)).name == RunConflict.__name__


@pytest.mark.parametrize("lane", ["", "s/", "x/session", "session", "s/a\nb", "s/" + "x" * 257])
def test_a_claim_names_a_lane(lane: str) -> None:
    error = refusal(decide(LaneState("r/run"), ClaimRun("run", lane), META))
    assert error.name == "InvalidCommand"


def test_a_claim_is_decided_in_the_lane_of_its_run() -> None:
    error = refusal(decide(LaneState("r/other"), ClaimRun("run", "s/session"), META))
    assert (error.name, error.details) == (WrongLane.__name__, (("lane", "r/run"),))


def test_a_sessionless_start_claims_in_the_same_step() -> None:
    decision = decide(LaneState("r/run"), MAKE.one_shot(), META)
    assert decision.changes.claim == RunClaim("run", "r/run", 7)
    assert len(decision.changes.records) == 1
    assert refusal(decide(CLAIMED, MAKE.one_shot(), META)).name == RunConflict.__name__
    claimed_before = given("r/run", ClaimRun("run", "r/run"))
    assert decide(claimed_before, MAKE.one_shot(), META).changes.claim is None


def test_an_append_may_wait_for_the_record_it_follows() -> None:
    """The refusal is temporary: the same command succeeds once the record is there (design, Wire formats)."""
    following = edit(MAKE.append("second"), after_key="first")
    error = refusal(decide(SESSION, following, META))
    assert (error.name, error.retryable) == (OutOfOrder.__name__, True)
    lane = given("s/session", MAKE.create(), ROOT, MAKE.append("first"), following)
    assert decide(lane, following, META).changes.empty, "an exact retry"


def test_a_command_names_the_keys_that_it_may_look_up() -> None:
    assert named_keys(edit(MAKE.append("second"), after_key="first")) == (("run", "second"), ("run", "first"))
    child = (("run", "link-child"), ("child", "child-start"), ("child", "child-canceled"))
    assert named_keys(MAKE.child()) == child
    assert named_keys(MAKE.one_shot_child()) == child[:2]
    assert named_keys(edit(MAKE.root(), started=None)) == (("run", "run-canceled"),)
    assert named_keys(MAKE.create()) == named_keys(ClaimRun("run", "s/session")) == ()
