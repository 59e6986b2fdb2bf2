"""Two owners of one chain, no group between them: one is halted at an insert and wakes when its rival wrote.

Whatever the halted one does when it wakes, there is one chain, and nothing is sent that is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from runlane.contract.codec import command_headers, encode_command
from runlane.contract.commands import AppendRunRecord, Command, StartOneShotRun
from runlane.contract.ids import run_lane
from runlane.kafka import Producer
from runlane.store.block import BlockHeader
from runlane.store.chain import ChainReader
from runlane.store.migrate import DEFAULT_WINDOW, migrate
from tests.e2e.checks import check_acknowledged, check_world
from tests.e2e.gates import Action, Rule, Sight, When
from tests.e2e.stack import FAST, PATIENCE, ClickHouse, OwnerProcess, World, wait_for
from tests.e2e.workload import clients, note, start_of
from tests.harness.kafka import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.guarantee("G5")]

KIB = 1024
SMALL, LARGE = 3 * KIB, 850 * KIB
WINDOW = 8
BRIEF = replace(FAST, not_after=2.0, max_execution=2.0, proof_age=1.0)
ALL_AT_ONCE = replace(FAST, batch_bytes=32 * KIB * KIB, pending_bytes=64 * KIB * KIB)
ONE_BY_ONE = replace(ALL_AT_ONCE, batch_commands=1)
ROUNDS = 5


@pytest.fixture
def world(kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path) -> Iterator[World]:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1, window=WINDOW) as made:
        yield made


@pytest.fixture
def roomy(kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path) -> Iterator[World]:
    """A world whose journal forgets no token, where no block comes late: the token alone decides."""
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as made:
        yield made


class Lane:
    """A sessionless run to which raw commands are sent; nobody waits for their outcomes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._numbers = count()
        self.sent = 0
        run, started, _ = start_of("r")
        self.send(StartOneShotRun(run, started))

    def append(self, *sizes: int) -> None:
        """Append records of these sizes."""
        records = [note("r", f"note-{next(self._numbers)}", size=size) for size in sizes]
        self.send(*(AppendRunRecord(record) for record in records))

    def send(self, *commands: Command) -> None:
        """Send commands into the run's lane."""
        topic, key = self._world.topics.commands.name, run_lane("r").encode()
        with Producer(self._world.kafka) as producer:
            for command in commands:
                self.sent += 1
                headers = command_headers(f"raw-{self.sent}", 0)
                producer.produce(topic, encode_command(command), key=key, headers=headers, partition=0)
            assert producer.drain(PATIENCE)


def end_of_chain(world: World) -> BlockHeader:
    """Return the last block of the chain."""
    header = ChainReader(world.pool).end(0).header
    assert header is not None
    return header


def decided(world: World, lane: Lane) -> bool:
    """Whether everything that was sent is decided."""
    return end_of_chain(world).last == lane.sent - 1


def check_duel(world: World, seen: Sight, *, won: bool) -> None:
    """The number of a halted block is its own, or another's."""
    (header,) = ChainReader(world.pool).headers(0, seen.number, seen.number)
    assert (header.nonce == seen.nonce) is won


def halt(owner: OwnerProcess, rule: Rule) -> None:
    """Wait until an owner has halted itself."""
    wait_for(rule.reached.exists, "the owner reaches its call")
    wait_for(lambda: owner.frozen, "it is halted")


def wake(owner: OwnerProcess) -> None:
    """Let a halted owner go on, and wait until it knows that its chain is lost."""
    owner.thaw()
    wait_for(lambda: has_lost(owner), "it has lost its chain")


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_an_owner_that_wakes_when_its_token_is_forgotten_and_its_block_is_late(
    world: World, when: When
) -> None:
    rule = world.rule(call="insert", of="commit", nth=3, when=when, action=Action.FREEZE)
    with clients(world.client) as ledger:
        frozen = world.owner(rule, direct=True, bounds=BRIEF)
        halt(frozen, rule)
        halted_at, before = time.monotonic(), end_of_chain(world)
        rival = world.owner(direct=True, bounds=replace(BRIEF, batch_commands=2))
    assert end_of_chain(world).number > before.number + WINDOW + 1, "the window has forgotten"
    late = BRIEF.not_after + BRIEF.max_execution
    wait_for(lambda: time.monotonic() > halted_at + late, "the halted block is late")
    # What is forgotten stays so. From now on either may stand still while the other writes many blocks.
    migrate(world.pool, window=DEFAULT_WINDOW)
    wake(frozen)
    # Each takes the chain from the other from now on, and the clients get what they want all the same.
    with clients(world.client, prefix="later-") as later:
        pass
    rival.stop()
    frozen.stop()
    check_acknowledged(world, ledger, later)
    check_world(world)


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("large", [True, False], ids=["6 MB halted", "3 KB halted"])
def test_a_commit_against_the_claim_of_a_rival_that_cuts_its_batches_otherwise(
    roomy: World, when: When, *, large: bool
) -> None:
    lane = Lane(roomy)
    cuts, others = (ALL_AT_ONCE, ONE_BY_ONE) if large else (ONE_BY_ONE, ALL_AT_ONCE)
    for _ in range(ROUNDS):
        first = roomy.rule(call="insert", of="commit", when=When.BEFORE, action=Action.HOLD)
        second = roomy.rule(call="insert", of="commit", nth=2, when=when, action=Action.FREEZE)
        halted = roomy.owner(first, second, direct=True, bounds=cuts)
        gather(roomy, lane, halted, first)
        halt(halted, second)
        rival = roomy.owner(direct=True, bounds=others)
        rival.wait_until_open([0])
        wait_for(lambda: decided(roomy, lane), "the rival has decided everything")
        wake(halted)
        assert (second.block.size > 5 * KIB * KIB) is large
        check_duel(roomy, second.block, won=when is When.AFTER)
        halted.kill()
        rival.kill()
    finish(roomy)


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("large", [True, False], ids=["against 6 MB", "against 3 KB"])
def test_a_claim_against_the_commit_of_a_rival_that_has_the_chain(
    roomy: World, when: When, *, large: bool
) -> None:
    lane = Lane(roomy)
    for _ in range(ROUNDS):
        first = roomy.rule(call="insert", of="commit", when=When.BEFORE, action=Action.HOLD)
        second = roomy.rule(call="insert", of="commit", nth=2, when=When.BEFORE, action=Action.HOLD)
        rival = roomy.owner(first, second, direct=True, bounds=ALL_AT_ONCE if large else ONE_BY_ONE)
        gather(roomy, lane, rival, first)
        wait_for(second.reached.exists, "the rival is about to commit")
        claim = roomy.rule(call="insert", of="claim", when=when, action=Action.FREEZE)
        halted = roomy.owner(claim, direct=True)
        halt(halted, claim)
        second.release.touch()
        if when is When.BEFORE:
            wait_for(lambda: decided(roomy, lane), "the rival has committed")
            wake(halted)
        else:
            wait_for(partial(has_lost, rival), "the rival has lost the chain")
            rival.kill()
            halted.thaw()
            wait_for(lambda: decided(roomy, lane), "the halted one has gone on")
        assert claim.block.number == second.block.number
        assert (second.block.size > 5 * KIB * KIB) is large
        check_duel(roomy, claim.block, won=when is When.AFTER)
        halted.kill()
        rival.kill()
    finish(roomy)


def gather(world: World, lane: Lane, owner: OwnerProcess, held: Rule) -> None:
    """Let 6 MB of commands gather behind the block that an owner is held at, then let that block go."""
    lane.append(SMALL)
    wait_for(held.reached.exists, "the owner is about to commit")
    lane.append(SMALL, *[LARGE] * 7)
    due = lane.sent - 1 - end_of_chain(world).last
    wait_for(lambda: owner.ask("fetched") == due, "it has fetched everything")
    held.release.touch()


def has_lost(owner: OwnerProcess) -> bool:
    """Whether an owner knows that it has lost its chain."""
    return bool(owner.ask("stats")["ownerships_lost"])


def finish(world: World) -> None:
    """Let one owner decide and send what is left, and check everything."""
    last = world.owner(direct=True)
    last.wait_until_open([0])
    last.stop()
    check_world(world)
