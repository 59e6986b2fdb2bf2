"""Any sequence of commands is answered as the plain model answers it, and leaves what the guarantees say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from runlane.contract.commands import Command
from runlane.contract.errors import ContractError
from runlane.contract.outcomes import Result
from runlane.contract.validate import validate_before_send
from runlane.contract.values import RunStatus
from tests.contract.cases.world import Make, edit
from tests.contract.model.model import Model, RefusedError, Run
from tests.contract.model.observed import ObservedBackend, folded, snapshot

SESSIONS = ["s1", "s1", "s1", "s2"]
RUNS = ["r1", "r2", "r3", "r4", "r5"]
KEYS = ["k1", "k2", "k3", "r1-start", "link-r2"]
TURNS = ["turn-1", "turn-1", "turn-1", "turn-9"]
REASONS = ["user_requested", "user_requested", "engine_canceled", "session_ended"]
ENDS = [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED]
RECORD_FIELDS = ["record", "started", "canceled", "parent_linked"]
LIKELY = 4
NONE = [""] * 9


class Lanes(RuleBasedStateMachine):
    """Random commands, the likely ones often enough that runs live long and stop in every way."""

    def __init__(self) -> None:
        super().__init__()
        self.make = Make("")
        self.model = Model()
        self.backend = ObservedBackend()
        self.issued: list[Command] = []

    def check(self, command: Command) -> None:
        """The backend answers as the model; an answer that inserts nothing changes nothing (G2, G4)."""
        expected = self.expected(command)
        assert self.answered(command) == expected
        if isinstance(expected, str) or not inserts(expected):
            assert self.backend.journal_growth().records == 0
        self.backend.journal_growth()
        self.issued.append(command)

    def expected(self, command: Command) -> Result | str:
        try:
            validate_before_send(command)
            return self.model.execute(command)
        except RefusedError as refused:
            return str(refused)
        except ContractError as refused:
            return type(refused).__name__

    def answered(self, command: Command) -> Result | str:
        try:
            return self.backend.execute(command)
        except ContractError as refused:
            return type(refused).__name__

    # Likely choices

    def unused(self) -> list[str]:
        return [run for run in RUNS if run not in self.model.claims] * LIKELY + RUNS

    def runs(self, wanted: Callable[[Run], bool] = lambda _: True) -> list[str]:
        return [run_id for run_id, run in self.model.runs.items() if wanted(run)] * LIKELY + RUNS

    def agent(self, run_id: str) -> str:
        stored = self.model.runs.get(run_id)
        return stored.start.agent_id if stored is not None else "a"

    def owner(self, data: st.DataObject, run_id: str) -> dict[str, Any]:
        """The run's own session and agent, now and then another one."""
        stored = self.model.runs.get(run_id)
        session = stored.start.session_id if stored is not None else "s1"
        odd = data.draw(st.sampled_from(["", "", "", "", "", "agent", "session"]))
        return {
            "run": run_id,
            "session": "s1" if odd == "session" else session,
            "agent": "c" if odd == "agent" else self.agent(run_id),
        }

    def labels(self, data: st.DataObject, run_id: str = "") -> dict[str, str]:
        stored = self.model.runs.get(run_id)
        own = dict(stored.start.labels) if stored is not None else {}
        return data.draw(st.sampled_from([own, own, own, {}, {"team": "x"}]))

    # Sessions

    @initialize()
    def first_session(self) -> None:
        self.check(self.make.create("s1"))

    @rule(data=st.data())
    def create_session(self, data: st.DataObject) -> None:
        self.check(self.make.create(data.draw(st.sampled_from(SESSIONS))))

    @rule(data=st.data())
    def end_session(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from(["s2", "s2", "s2", "s3", "s1"]))
        self.check(self.make.end_session(session))

    @rule(data=st.data())
    def purge_session(self, data: st.DataObject) -> None:
        self.check(self.make.purge(data.draw(st.sampled_from(SESSIONS))))

    # Starts

    @rule(data=st.data())
    def start_root(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(self.unused()))
        suspended = self.runs(lambda known: known.status is RunStatus.SUSPENDED)
        follows = data.draw(st.sampled_from([*NONE, *(known for known in suspended if known != run)]))
        before = self.model.runs.get(follows)
        command = self.make.root(
            run,
            before.start.session_id or "s1" if before else data.draw(st.sampled_from(SESSIONS)),
            agent=data.draw(st.sampled_from([self.agent(follows), "a", "b"])),
            labels=self.labels(data),
            predecessor=follows,
        )
        turn = data.draw(st.sampled_from(TURNS))
        self.check(edit(command, started={"turn_id": turn}, canceled={"turn_id": turn}))

    @rule(data=st.data())
    def start_child(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(self.unused()))
        parent = data.draw(st.sampled_from(self.runs(lambda known: bool(known.start.session_id))))
        stored = self.model.runs.get(parent)
        siblings = self.runs(lambda known: known.start.parent_run_id == parent)
        follows = data.draw(st.sampled_from([*NONE, *(known for known in siblings if known != run)]))
        command = self.make.child(
            run,
            parent,
            (stored.start.session_id if stored else "") or data.draw(st.sampled_from(SESSIONS)),
            agent=self.agent(follows),
            parent_agent=self.agent(parent),
            labels=self.labels(data),
            predecessor=follows,
        )
        self.check(self.with_link(data, command, run))

    @rule(data=st.data())
    def start_one_shot(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(self.unused()))
        self.check(self.make.one_shot(run, agent=data.draw(st.sampled_from("ab"))))

    @rule(data=st.data())
    def start_one_shot_child(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(self.unused()))
        parent = data.draw(st.sampled_from(self.runs(lambda known: not known.start.session_id)))
        command = self.make.one_shot_child(run, parent, parent_agent=self.agent(parent))
        self.check(self.with_link(data, command, run))

    def with_link(self, data: st.DataObject, command: Any, run: str) -> Command:
        """The child start with its usual link key, or one that the parent may use already."""
        key = data.draw(st.sampled_from([f"link-{run}"] * LIKELY + KEYS))
        agent = data.draw(st.sampled_from([command.parent_linked.agent_id] * LIKELY + ["c"]))
        changed: Command = edit(command, parent_linked={"event_key": key, "agent_id": agent})
        return changed

    # Runs

    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        run, key = data.draw(st.sampled_from(self.runs())), data.draw(st.sampled_from(KEYS))
        self.check(self.turned(data, self.make.append(key, **self.owner(data, run))))

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        run, reason = data.draw(st.sampled_from(self.runs())), data.draw(st.sampled_from(REASONS))
        key = data.draw(st.sampled_from(["cancel", "cancel", "k1"]))
        self.check(self.turned(data, self.make.cancel(reason, key=key, **self.owner(data, run))))

    @rule(data=st.data(), ensure=st.booleans())
    def suspend(self, data: st.DataObject, ensure: bool) -> None:
        run = data.draw(st.sampled_from(self.runs()))
        key = data.draw(st.sampled_from(["stop", "stop", "stop", "k1"]))
        content = data.draw(st.sampled_from([b"one", b"one", b"two"]))
        make = self.make.ensure_suspended if ensure else self.make.suspend
        self.check(self.turned(data, make(key=key, data=content, **self.owner(data, run))))

    @rule(data=st.data(), ensure=st.booleans(), status=st.sampled_from(ENDS))
    def end(self, data: st.DataObject, ensure: bool, status: RunStatus) -> None:
        run = data.draw(st.sampled_from(self.runs()))
        stored = self.model.runs.get(run)
        own = (stored.reason if stored else "") or "engine_canceled"
        make = self.make.ensure_end if ensure else self.make.end
        command = make(
            status,
            key=data.draw(st.sampled_from(["stop", "stop", "stop", "k1", f"{run}-canceled"])),
            reason=data.draw(st.sampled_from([own, own, own, *REASONS])),
            labels=self.labels(data, run),
            **self.owner(data, run),
        )
        self.check(self.turned(data, command))

    def turned(self, data: st.DataObject, command: Any) -> Command:
        changed: Command = edit(command, record={"turn_id": data.draw(st.sampled_from(TURNS))})
        return changed

    # Retries

    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        """Send an old command again as it was: an exact retry, or whatever it is by now."""
        self.check(data.draw(st.sampled_from(self.issued)))

    @rule(data=st.data())
    def repeat_changed(self, data: st.DataObject) -> None:
        """Send an old command again with one record changed."""
        old = data.draw(st.sampled_from(self.issued))
        names = [name for name in RECORD_FIELDS if getattr(old, name, None) is not None]
        if names:
            change = data.draw(st.sampled_from([{"turn_id": "turn-9"}, {"event_key": "k-other"}]))
            self.check(edit(old, **{data.draw(st.sampled_from(names)): change}))

    @rule()
    def commit(self) -> None:
        self.backend.commit_overlays()

    @invariant()
    def every_state_is_the_fold_of_its_changes(self) -> None:
        for name, state in self.backend.lanes.items():
            assert snapshot(folded(name, self.backend.journal.get(name, []))) == snapshot(state)

    @invariant()
    def sequences_have_no_gaps(self) -> None:
        for journal in self.backend.journal.values():
            records = [record for changes in journal for record in changes.records]
            assert [record.lane_seq for record in records] == list(range(1, len(records) + 1))
            by_run: dict[str, list[int]] = {}
            for record in records:
                if record.run_id:
                    by_run.setdefault(record.run_id, []).append(record.seq)
            assert all(seqs == list(range(1, len(seqs) + 1)) for seqs in by_run.values())

    @invariant()
    def runs_are_what_the_model_says(self) -> None:
        found = {run.run_id: run for lane in self.backend.lanes.values() for run in lane.runs()}
        assert found.keys() == self.model.runs.keys()
        for run_id, run in self.model.runs.items():
            state = found[run_id]
            assert (state.status, state.start_outcome) == (run.status, run.outcome)
            assert state.cancellation_reason == run.reason
            records = [record for record in self.backend.records if record.run_id == run_id]
            assert [record.event_key for record in records] == [record.event_key for record in run.records]
            assert [record.payload for record in records] == [record.payload for record in run.records]
            if run.checkpoint is not None:
                assert self.backend.load_run_suspension(run_id) == run.checkpoint


def inserts(result: Any) -> bool:
    """Whether a result says that something was written; host results do not tell."""
    parts = ("record", "started", "parent_record", "canceled")
    if not any(hasattr(result, part) for part in (*parts, "inserted")):
        return True
    inner = [getattr(result, part) for part in parts if hasattr(result, part)]
    return any(part.inserted for part in inner) or bool(getattr(result, "inserted", False))


QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


@pytest.mark.guarantee("G2")
@pytest.mark.guarantee("G3")
@pytest.mark.guarantee("G4")
@pytest.mark.guarantee("G6")
@pytest.mark.guarantee("G9")
class TestLanes(Lanes.TestCase):
    settings = settings(max_examples=40, stateful_step_count=40, **QUIET)


@pytest.mark.long
class TestManyLanes(Lanes.TestCase):
    settings = settings(max_examples=400, stateful_step_count=80, **QUIET)
