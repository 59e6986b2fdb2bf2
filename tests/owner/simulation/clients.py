"""Workers and hosts of the simulated world.

Scripts that send commands, await outcomes and repeat what got none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from runlane.contract.codec import command_headers, decode_outcome, encode_command, outcome_correlation
from runlane.contract.commands import ClaimReceipt, Command, CreateSession, EndSession, PurgeSession
from runlane.contract.errors import ErrorInfo
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.outcomes import ClaimResult, Outcome
from runlane.contract.partitioner import partition_for
from runlane.contract.signing import Key, Keyring
from runlane.owner.ports import Outgoing, OutTopic
from tests.owner.simulation import commands
from tests.owner.simulation.broker import REPLY_PARTITIONS, Broker
from tests.owner.simulation.world import World

HOST_KEYS = Keyring([Key("host", b"h" * 32)])
RECEIPT_KEYS = Keyring([Key("owner", b"o" * 32)])

Asked = list[tuple[str, Command]]
Script = Generator[Asked, list[Outcome], None]


@dataclass
class Client:
    """Runs one script: each step sends some commands, and goes on when all have outcomes."""

    world: World
    broker: Broker
    name: str
    script: Script
    finished: Callable[[], None]
    patience: float = 20.0
    answers: dict[str, Outcome] = field(default_factory=dict)
    sent: int = 0

    def begin(self) -> None:
        """Send the first step."""
        self._ask(next(self.script))

    def hear(self, outcome: Outcome) -> None:
        """Take an outcome that names one of our commands."""
        number, _, _ = outcome.correlation_id.partition("#")
        self.answers.setdefault(number, outcome)
        if self._waiting and all(name in self.answers for name in self._waiting):
            found = [self.answers[name] for name in self._waiting]
            self._waiting = []
            try:
                asked = self.script.send(found)
            except StopIteration:
                self.finished()
                return
            self.world.after(self.world.random.choice((0.0, 0.3, 3.0, 10.0)), lambda: self._ask(asked))

    def _ask(self, asked: Asked) -> None:
        names = [f"{self.name}.{self.sent + index}" for index in range(len(asked))]
        self.sent += len(asked)
        self._waiting = names
        for name, (lane, command) in zip(names, asked, strict=True):
            self._send(name, lane, command, 0)

    def _send(self, name: str, lane: str, command: Command, attempt: int) -> None:
        if name in self.answers or attempt > 400:
            return
        key, body = lane.encode(), encode_command(command)
        host = isinstance(command, CreateSession | EndSession | PurgeSession)
        signature = HOST_KEYS.sign_host(key, body) if host else None
        headers = command_headers(f"{name}#{attempt}", len(self.name) % REPLY_PARTITIONS, signature)
        self.broker.produce(partition_for(key, self.broker.partitions), key, body, headers)
        delay = self.world.random.uniform(1, 2) * self.patience
        self.world.after(delay, lambda: self._send(name, lane, command, attempt + 1))

    def __post_init__(self) -> None:
        self._waiting: list[str] = []
        self.broker.watchers.append(self._watch)

    def _watch(self, message: Outgoing) -> None:
        if message.topic is not OutTopic.OUTCOMES:
            return
        correlation = outcome_correlation(message.headers)
        if correlation.startswith(self.name + "."):
            outcome = decode_outcome(message.value)
            self.world.after(0.001, lambda: self.hear(outcome))


def ok(outcome: Outcome) -> Outcome:
    """Return an outcome that is no error."""
    assert outcome.error is None, outcome.error
    return outcome


def code(outcome: Outcome) -> str:
    """Return an outcome's error code."""
    error: ErrorInfo | None = outcome.error
    return "" if error is None else error.code


def receipt(outcome: Outcome) -> ClaimReceipt:
    """Return the receipt of a claim."""
    result = ok(outcome).result
    assert isinstance(result, ClaimResult)
    return result.receipt


def agent_session(name: str, runs: int, *, purge: bool) -> Script:
    """A session whose runs start, append, and end; then it is ended, and perhaps purged."""
    lane = session_lane(name)
    (made,) = yield [(lane, CreateSession(name, commands.AT))]
    ok(made)
    for number in range(runs):
        yield from agent_run(f"{name}-run-{number}", name, suspends=number % 3 == 2)
    (ended,) = yield [(lane, EndSession(name, commands.later(60)))]
    ok(ended)
    stopped = f"{name}-late"
    (claimed,) = yield [(run_lane(stopped), commands.claim(stopped, name))]
    (late,) = yield [(lane, commands.start_root(stopped, name, receipt(claimed)))]
    ok(late)
    if purge:
        (purged,) = yield [(lane, PurgeSession(name))]
        ok(purged)
        (after,) = yield [(lane, commands.append(f"{name}-run-0", name, 1))]
        assert code(after) in {"run_not_found", "session_purged"}, after


def agent_run(run_id: str, session: str, *, suspends: bool) -> Script:
    """A run from its claim to its end; a lost lane is answered by the run's own lane."""
    lane = session_lane(session)
    (claimed,) = yield [(run_lane(run_id), commands.claim(run_id, session))]
    (started,) = yield [(lane, commands.start_root(run_id, session, receipt(claimed)))]
    ok(started)
    notes = [(lane, commands.append(run_id, session, number)) for number in range(5)]
    for outcome in (yield notes):
        ok(outcome)
    (wrong,) = yield [(run_lane(run_id), commands.append(run_id, session, 99))]
    assert code(wrong) == "wrong_lane", wrong
    end = commands.suspend(run_id, session) if suspends else commands.complete(run_id, session)
    (done,) = yield [(lane, end)]
    ok(done)
    (over,) = yield [(lane, commands.append(run_id, session, 100))]
    assert code(over) == "run_not_active", over


def one_shot(run_id: str) -> Script:
    """A sessionless run, whose start claims its id."""
    lane = run_lane(run_id)
    (started,) = yield [(lane, commands.start_one_shot(run_id))]
    ok(started)
    first, second = yield [(lane, commands.append(run_id, "", 1)), (lane, commands.append(run_id, "", 2))]
    ok(first)
    ok(second)
    (done,) = yield [(lane, commands.complete(run_id, ""))]
    ok(done)
