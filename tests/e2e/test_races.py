"""One run id, two sessions: whoever claims it first has it for ever, and everyone else finds it there."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from runlane.client import RunStore
from runlane.contract.errors import RunConflict
from runlane.contract.ids import session_lane
from runlane.contract.partitioner import partition_for
from runlane.contract.payloads import CANCELLATION_INTENT, CancellationIntent
from runlane.contract.values import RunRecord, RunStatus, StartOutcome
from tests.e2e.checks import check_world
from tests.e2e.stack import ClickHouse, World
from tests.e2e.workload import AGENT, AT, end_of, note, start_of
from tests.harness.kafka import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
ROUNDS = 200
AT_ONCE = 10
RIVALS = ("red", "blue")
FOUND = 20


async def start(store: RunStore, run_id: str, session_id: str) -> StartOutcome:
    run, started, stopped = start_of(run_id, session_id)
    return (await store.start_root_run(run, started=started, canceled=stopped)).outcome


async def race(rivals: Sequence[tuple[str, RunStore]], run_id: str) -> str:
    """Start one new run id in two sessions at once, in this order; return the session that has it."""
    found = await asyncio.gather(
        *(start(store, run_id, session) for session, store in rivals), return_exceptions=True
    )
    assert {type(answer) for answer in found} == {StartOutcome, RunConflict}
    return rivals[found.index(StartOutcome.PROCEED)][0]


@pytest.mark.guarantee("G2")
async def test_of_two_sessions_that_start_one_run_id_exactly_one_wins(
    kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    assert len({partition_for(session_lane(session).encode(), 2) for session in RIVALS}) == 2
    with World(kafka_broker.bootstrap, clickhouse, tmp_path) as world:
        owners = [world.owner(), world.owner()]
        async with world.client() as one, world.client() as two:
            for session in RIVALS:
                await one.create_session(session, AT)
            winners: dict[str, str] = {}
            rivals = list(zip(RIVALS, (one, two), strict=True))
            orders = itertools.cycle((rivals, rivals[::-1]))
            for first in range(0, ROUNDS, AT_ONCE):
                names = [f"raced-{number}" for number in range(first, first + AT_ONCE)]
                won = await asyncio.gather(*(race(next(orders), name) for name in names))
                winners |= zip(names, won, strict=True)
            assert set(winners.values()) == set(RIVALS)
            await the_loser_loses_again(one, winners)
        async with world.client() as fresh:
            for run_id in list(winners)[:FOUND]:
                await found_by_its_id(fresh, run_id, winners[run_id])
            for session in RIVALS:
                runs = {run.run_id for run in await fresh.list_runs_by_session(session)}
                assert runs == {run_id for run_id, winner in winners.items() if winner == session}
        for owner in owners:
            owner.stop()
        check_world(world)


async def the_loser_loses_again(store: RunStore, winners: dict[str, str]) -> None:
    run_id, winner = next(iter(winners.items()))
    loser = next(session for session in RIVALS if session != winner)
    with pytest.raises(RunConflict):
        await start(store, run_id, loser)
    assert await start(store, run_id, winner) is StartOutcome.PROCEED


async def found_by_its_id(store: RunStore, run_id: str, session_id: str) -> None:
    """Commands that are routed by nothing but the run's id arrive in the lane that it was claimed for."""
    payload = CancellationIntent(reason="user_requested").encode()
    intent = RunRecord("cancel", run_id, AGENT, session_id, "", CANCELLATION_INTENT, payload, AT)
    asked = await store.record_run_cancellation(run_id, "user_requested", record=intent)
    noted = await store.append_run_record(note(run_id, "late", session_id=session_id))
    ended = await store.ensure_run_terminal(run_id, RunStatus.COMPLETED, record=end_of(run_id, session_id))
    assert (asked.id, noted.id, ended.record.id) == ("2", "3", "4")
    assert (await store.load_run(run_id)).session_id == session_id
