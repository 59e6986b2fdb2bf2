"""10,000 commands over 200 lanes from 8 processes, while one of two owners is killed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from runlane.client import ClientOptions, RunStore
from runlane.contract.errors import RunlaneError
from tests.e2e.checks import check_world
from tests.e2e.plays import Expected, Play, heard
from tests.e2e.stack import HOST_KEY, PROCESSES, TOKEN, ClickHouse, OwnerProcess, World, wait_for
from tests.harness.kafka import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(900)]
PROCESS_COUNT = 8
LANES_EACH = 25
COMMANDS_EACH = 50
KILLED_AFTER = 2_500
SECONDS = 400.0


@dataclass(frozen=True)
class Cast:
    """What a client's process is told: where to connect, and the lanes that it plays."""

    bootstrap: str
    api: str
    prefix: str
    number: int

    def plays(self) -> Sequence[Play]:
        """Return its plays; every fifth one has no session."""
        return [Play(f"lane-{self.number}-{lane}", with_session=lane % 5 != 0) for lane in range(LANES_EACH)]


@dataclass(frozen=True)
class Surprise:
    """An answer that the play did not foretell."""

    lane: str
    line: int
    expected: Expected
    heard: Expected


def perform(cast: Cast, report: Connection) -> None:
    """Play every lane of a process, all at once; report the number of answers, and the surprises."""
    report.send(asyncio.run(_perform(cast)))


async def _perform(cast: Cast) -> tuple[int, list[Surprise]]:
    options = ClientOptions(timeout=SECONDS, answer_wait=5.0)
    async with RunStore.connect(
        cast.bootstrap,
        cast.api,
        token=TOKEN,
        host_key=HOST_KEY,
        topic_prefix=cast.prefix,
        options=options,
    ) as store:
        found = await asyncio.gather(*(_play(store, play) for play in cast.plays()))
    return sum(count for count, _ in found), [surprise for _, some in found for surprise in some]


async def _play(store: RunStore, play: Play) -> tuple[int, list[Surprise]]:
    surprises: list[Surprise] = []
    count = 0
    for command, expected in play.script(COMMANDS_EACH):
        try:
            answer = heard(await store.execute(command))
        except RunlaneError as error:
            answer = heard(error)
        if answer != expected:
            surprises.append(Surprise(play.name, count, expected, answer))
        count += 1
    return count, surprises


@pytest.mark.guarantee("G2")
@pytest.mark.guarantee("G3")
def test_ten_thousand_commands_are_answered_as_foretold_though_an_owner_is_killed(
    kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=4) as world:
        owners = [world.owner(), world.owner()]
        wait_for(lambda: all(holds(owner, 2) for owner in owners), "the owners share the partitions")
        casts = [
            Cast(world.kafka.bootstrap, world.api, world.topics.prefix, number)
            for number in range(PROCESS_COUNT)
        ]
        reports = [start(cast) for cast in casts]
        wait_for(
            lambda: answered(world) >= KILLED_AFTER and all(holds(owner, 2) for owner in owners),
            "the plays are under way, and the owners share them",
            seconds=SECONDS,
        )
        owners[0].kill()
        at_the_kill = answered(world)
        found = [receive(report) for report in reports]
        owners[1].stop()

        assert at_the_kill < PROCESS_COUNT * LANES_EACH * COMMANDS_EACH
        assert [surprise for _, surprises in found for surprise in surprises] == []
        assert sum(count for count, _ in found) == PROCESS_COUNT * LANES_EACH * COMMANDS_EACH
        check_stored(world, casts)
        check_world(world)


def holds(owner: OwnerProcess, partitions: int) -> bool:
    """Whether an owner has opened that many partitions."""
    return Counter(owner.ask("phases").values())["open"] == partitions


def answered(world: World) -> int:
    """How many commands the journal has answered."""
    ((count,),) = world.pool.query("SELECT count() FROM journal WHERE kind = 'answer'")
    return int(count)


def start(cast: Cast) -> Connection:
    """Play in a process of its own, which ends by itself."""
    ours, theirs = PROCESSES.Pipe(duplex=False)
    PROCESSES.Process(target=perform, args=(cast, theirs), daemon=True).start()
    theirs.close()
    return ours


def receive(report: Connection) -> tuple[int, list[Surprise]]:
    assert report.poll(SECONDS), "a client's process is not done"
    found: tuple[int, list[Surprise]] = report.recv()
    report.close()
    return found


def check_stored(world: World, casts: Sequence[Cast]) -> None:
    """The journal holds what the plays foretold, each run's records numbered from 1 without a gap."""
    foretold: dict[tuple[str, str], int] = {}
    lanes = 0
    for cast in casts:
        for play in cast.plays():
            lanes += 1
            list(play.script(COMMANDS_EACH))
            foretold |= {
                (run.run_id, key): int(number) for run in play.runs for key, number in run.keys.items()
            }
    rows = world.pool.query(
        "SELECT run_id, event_key, seq FROM journal WHERE kind = 'record' AND run_id != ''"
    )
    assert {(run_id, key): int(seq) for run_id, key, seq in rows} == foretold
    assert len(rows) == len(foretold)
    assert lanes == PROCESS_COUNT * LANES_EACH
