"""A purge from end to end: what stays, what is read, and that nothing brings the session back (G7)."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runlane.client import RunStore
from runlane.contract.codec import command_headers, decode_record, encode_command, outcome_correlation
from runlane.contract.commands import (
    AppendRunRecord,
    Command,
    CreateSession,
    EndSession,
    PurgeSession,
    RecordRunSuspension,
    RecordRunTerminal,
    StartRootRun,
)
from runlane.contract.errors import ContractError, RunConflict, RunNotFound, SessionPurged
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.payloads import RUN_SUSPENDED, RunSuspended
from runlane.contract.reader import RunQuery
from runlane.contract.signing import Keyring
from runlane.contract.values import RunRecord, RunStatus, RunSuspension
from tests.e2e.checks import check_world, finish_erases
from tests.e2e.gates import Action, When
from tests.e2e.operating import Stranger, settings
from tests.e2e.stack import HOST_KEY, ClickHouse, World, wait_for
from tests.e2e.workload import AGENT, AT, end_of, note, start_of
from tests.harness.kafka import Kafka
from tests.service.commands import runlane_json

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.guarantee("G7")]

SESSION = "the-session"
LANE = session_lane(SESSION)
SECRET = b"SECRET-BYTES"
RUNS = ("the-run", "the-second-run")


@pytest.fixture
def world(kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path) -> Iterator[World]:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path, partitions=1) as made:
        yield made


def story(session_id: str, runs: tuple[str, str] = RUNS, *, said: bytes = SECRET) -> list[Command]:
    """A session with two runs, one of which ends and one is suspended with a checkpoint; then its own end."""
    first, second = runs
    suspended = RunSuspended(suspension_id="waits", version="v1").encode()
    waits = RunRecord("suspend", second, AGENT, session_id, "", RUN_SUSPENDED, suspended, AT)
    ended = RecordRunTerminal(first, RunStatus.COMPLETED, end_of(first, session_id))
    return [
        CreateSession(session_id, AT),
        *(StartRootRun(*start_of(run_id, session_id)) for run_id in runs),
        AppendRunRecord(
            replace(note(first, "secret", session_id=session_id), payload=b'{"Note":"%s"}' % said)
        ),
        RecordRunSuspension(second, RunSuspension("waits", said), waits),
        ended,
        EndSession(session_id, AT),
    ]


async def tell(store: RunStore, session_id: str = SESSION) -> list[str]:
    """Tell the story; return the codes of what was refused."""
    refused: list[str] = []
    for command in story(session_id):
        try:
            await store.execute(command)
        except ContractError as error:
            refused.append(error.code)
    return refused


async def test_of_a_purged_session_nothing_stays_and_nothing_comes_back(world: World) -> None:
    owner = world.owner()
    given = settings(world)
    async with world.client() as store:
        for command in story("other", ("other-run", "other-waits"), said=b"nothing"):
            await store.execute(command)
        assert await tell(store) == []
        runlane_json("rebuild", **given)
        assert mentions(world) > 0
        others = await reads_of_the_other(store)

        await store.purge_session(SESSION)
        wait_for(lambda: erased(given), "the lane is erased")
        check_only_the_tombstone_is_left(world, answers=1)
        await check_reads(store)

        lost = ["session_purged"] * 3 + ["run_not_found"] * 3 + ["session_purged"]
        assert await tell(store) == lost
        await store.purge_session(SESSION)
        run, started, stopped = start_of(RUNS[0], "other")
        with pytest.raises(RunConflict):
            await store.start_root_run(run, started=started, canceled=stopped)
        owner.kill()
        healer = world.owner()
        assert await tell(store) == lost
        assert runlane_json("rebuild", **given)["rebuilt"] == ["run_search"]
        check_only_the_tombstone_is_left(world, answers=2 + 2 * len(lost))
        await check_reads(store)
        assert await reads_of_the_other(store) == others
    healer.stop()
    check_world(world)


def erased(given: dict[str, str]) -> bool:
    """Whether the operator is told that nothing is left to erase."""
    return bool(runlane_json("inspect", "erases", **given) == {"pending": [], "running": []})


def check_only_the_tombstone_is_left(world: World, *, answers: int) -> None:
    """Of the lane: the tombstone, its marker and answers that name nothing; of its runs: their claims."""
    rows = world.pool.query(
        "SELECT kind, run_id, agent_id, event_key FROM journal WHERE lane = {lane:String}", {"lane": LANE}
    )
    counts = Counter(kind for kind, *_ in rows)
    # A client that waits too long for an answer asks again, and gets another one.
    assert counts.pop("answer") >= answers
    assert counts == {"tombstone": 1, "record": 1}
    assert {tuple(ids) for _, *ids in rows} == {("", "", ""), ("", "", "session_purged")}
    of_runs = world.pool.query(
        "SELECT kind, session_id, agent_id FROM journal WHERE has({lanes:Array(String)}, lane)",
        {"lanes": [run_lane(run_id) for run_id in RUNS]},
    )
    assert {(kind, *ids) for kind, *ids in of_runs} == {("claim", "", ""), ("answer", "", "")}
    assert mentions(world) == 0
    assert world.pool.query("SELECT 1 FROM run_search WHERE lane = {lane:String}", {"lane": LANE}) == []


def mentions(world: World) -> int:
    """How many rows of the journal hold the payload or the checkpoint."""
    secrets = [SECRET.decode(), b64encode(SECRET).decode()]
    ((count,),) = world.pool.query(
        "SELECT count() FROM journal WHERE multiSearchAny(body, {secrets:Array(String)})",
        {"secrets": secrets},
    )
    return int(count)


async def check_reads(store: RunStore) -> None:
    """Reads of the session say that it is purged, those of its runs that there is none; no list has it."""
    for read in (store.load_session, store.load_session_status, store.list_runs_by_session):
        with pytest.raises(SessionPurged):
            await read(SESSION)
    with pytest.raises(SessionPurged):
        await store.list_session_run_records(SESSION, "", 10)
    for run_id in RUNS:
        for load in (store.load_run, store.load_run_suspension):
            with pytest.raises(RunNotFound):
                await load(run_id)
        with pytest.raises(RunNotFound):
            await store.list_run_records(run_id, "", 10)
    assert {session.id for session in (await store.list_sessions()).sessions} == {"other"}
    found = (await store.search_runs(RunQuery())).runs
    assert {run.run_id for run in found} == {"other-run", "other-waits"}


async def reads_of_the_other(store: RunStore) -> tuple[object, ...]:
    return (
        await store.load_session("other"),
        await store.load_run_suspension("other-waits"),
        await store.list_session_run_records("other", "", 100),
    )


async def test_a_takeover_after_the_erase_sends_nothing_of_a_purged_session_again(world: World) -> None:
    """The owner dies with all of it committed and nothing sent; the lane is erased before the next owner."""
    claiming = world.owner()
    async with world.client() as store:
        receipts = {run_id: (await store.claim_run(run_id, LANE)).receipt for run_id in RUNS}
    claiming.stop()
    stranger = Stranger(world)
    for number, command in enumerate([*story(SESSION), PurgeSession(SESSION)]):
        receipt = receipts[command.run.run_id] if isinstance(command, StartRootRun) else None
        proven = command if receipt is None else replace(command, receipt=receipt)
        send_signed(stranger, proven, f"story-{number}")
    doomed = world.owner(world.rule(call="send", when=When.BEFORE, action=Action.KILL, of="outcomes"))
    doomed.wait_until_dead()
    finish_erases(world)

    world.owner().wait_until_open([0])
    world.owners[-1].stop()
    sent = world.messages(world.topics.outcomes.name)
    correlations = [outcome_correlation(message.headers) for message in sent]
    assert [name for name in correlations if name.startswith("story")] == [f"story-{len(story(SESSION))}"]
    records = [decode_record(message.value) for message in world.messages(world.topics.records.name)]
    assert [record.type for record in records] == ["session_purged"]
    assert world.verify() == []


def send_signed(stranger: Stranger, command: Command, name: str) -> None:
    """Send a command into the session's lane, with the host's signature whether it needs one or not."""
    key, body = LANE.encode(), encode_command(command)
    stranger.send(key, body, command_headers(name, 0, Keyring([HOST_KEY]).sign_host(key, body)))
