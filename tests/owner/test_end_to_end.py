"""The owner over the embedded broker and the embedded engine.

What the simulation shows, on the real parts.
"""

from __future__ import annotations

import time

import pytest

from runlane.contract.codec import decode_record, record_lane_seq
from runlane.contract.ids import run_lane, session_lane
from runlane.kafka import EmbeddedBroker, KafkaConfig
from runlane.owner.chain import Phase
from runlane.store.block import BlockHeader, BlockKind
from runlane.store.chain import ChainReader
from tests.owner.simulation import commands
from tests.owner.simulation.clients import agent_session, one_shot
from tests.owner.stack import PATIENCE, TOPICS, Journal, Running, Worker, broker, start_owner

pytestmark = pytest.mark.slow


def headers(held: Journal, partition: int) -> list[BlockHeader]:
    """Return a chain's commit rows."""
    return list(ChainReader(held.pool).headers(partition, 0, 10_000))


def sent_again(held: Journal, partition: int) -> dict[int, bytes]:
    """Return the journaled outcomes by position."""
    page = ChainReader(held.pool).outbox(partition, -1, 10_000, 100_000_000)
    return {item.position: item.outcome for item in page.items if hasattr(item, "outcome")}


def wait_until_open(running: Running) -> None:
    """Wait until every partition is open."""
    deadline = time.monotonic() + PATIENCE
    while set(running.owner.phases().values()) != {Phase.OPEN}:
        assert time.monotonic() < deadline, (running.owner.phases(), running.owner.stops())
        time.sleep(0.02)


def check_chain(held: Journal, partition: int) -> None:
    """One chain, its hashes and positions in a row."""
    chain = headers(held, partition)
    assert [header.number for header in chain] == list(range(len(chain)))
    last, previous = -1, b""
    for header in chain:
        assert header.prev_hash == previous
        assert header.first == last + 1
        last, previous = header.last, header.hash


def test_sessions_and_runs_go_through_the_real_parts_and_survive_a_restart(held: Journal) -> None:
    with broker() as kafka:
        worker = Worker(kafka)
        running = start_owner(kafka, held, "log-1")
        worker.play(agent_session("alpha", 3, purge=False))
        worker.play(one_shot("solo"))
        running.stop()
        running = start_owner(kafka, held, "log-1")
        worker.play(agent_session("beta", 2, purge=True))
        running.stop()
        worker.hear_all()
        for partition in range(TOPICS.partitions):
            check_chain(held, partition)
            assert max(header.epoch for header in headers(held, partition)) == 2
        journaled = {
            o for partition in range(TOPICS.partitions) for o in sent_again(held, partition).values()
        }
        heard = {message.value for message in worker.messages[TOPICS.outcomes.name]}
        erased_lane = session_lane("beta")
        assert journaled <= heard
        check_records(worker, erased_lane)
        worker.close()


def check_records(worker: Worker, purged: str) -> None:
    """Each lane's records arrived in order, gapless, and a purge is announced last."""
    lanes: dict[str, list[int]] = {}
    types: dict[str, str] = {}
    for message in worker.messages[TOPICS.records.name]:
        record = decode_record(message.value)
        assert record_lane_seq(message.headers) == record.lane_seq
        lanes.setdefault(record.lane, []).append(record.lane_seq)
        types[record.lane] = record.type
    for seqs in lanes.values():
        assert list(dict.fromkeys(seqs)) == list(range(1, max(seqs) + 1))
    assert types[purged] == "session_purged"


def test_a_purged_session_is_erased_from_the_journal(held: Journal) -> None:
    with broker() as kafka:
        worker = Worker(kafka)
        running = start_owner(kafka, held, "log-1")
        worker.play(agent_session("gone", 1, purge=True))
        deadline = time.monotonic() + PATIENCE
        lane = session_lane("gone")
        while rows := held.pool.query(
            "SELECT kind, type FROM journal WHERE lane = {lane:String} AND kind NOT IN ('tombstone')"
            " AND NOT (kind = 'record' AND type = 'session_purged') AND kind != 'answer'",
            {"lane": lane},
        ):
            assert time.monotonic() < deadline, rows
            time.sleep(0.1)
        running.stop()
        left = held.pool.query(
            "SELECT DISTINCT run_id, agent_id, session_id FROM journal WHERE lane = {lane:String}",
            {"lane": lane},
        )
        assert {(run_id, agent_id) for run_id, agent_id, _ in left} == {("", "")}
        worker.close()


def test_a_new_broker_is_adopted_and_what_was_decided_stays(held: Journal) -> None:
    with broker() as kafka:
        worker = Worker(kafka)
        running = start_owner(kafka, held, "log-1")
        worker.play(one_shot("before"))
        running.stop()
        worker.close()
    with broker() as kafka:
        worker = Worker(kafka)
        running = start_owner(kafka, held, "log-2")
        worker.play(one_shot("before"))
        worker.play(one_shot("after"))
        running.stop()
        worker.close()
        assert BlockKind.ADOPT in {header.kind for header in headers(held, 0) + headers(held, 1)}
        for partition in range(TOPICS.partitions):
            check_chain(held, partition)


def test_two_owners_of_one_chain_leave_one_chain(held: Journal) -> None:
    with broker() as kafka:
        worker = Worker(kafka)
        first = start_owner(kafka, held, "log-1")
        wait_until_open(first)
        second = start_owner(kafka, held, "log-1")
        for number in range(5):
            worker.play(one_shot(f"run-{number}"))
        first.stop()
        for number in range(5):
            worker.play(one_shot(f"more-{number}"))
        second.stop()
        worker.close()
        for partition in range(TOPICS.partitions):
            check_chain(held, partition)


def test_a_broker_that_is_away_for_a_while_costs_nothing_but_time(held: Journal) -> None:
    with EmbeddedBroker({topic.name: topic.partitions for topic in TOPICS.all()}) as away:
        kafka = KafkaConfig(away.bootstrap)
        worker = Worker(kafka)
        running = start_owner(kafka, held, "log-1")
        worker.play(one_shot("before"))
        names = [worker.send(run_lane(f"run-{n}"), commands.start_one_shot(f"run-{n}")) for n in range(50)]
        away.disconnect()
        time.sleep(3)
        away.reconnect()
        assert all(worker.outcome(name).error is None for name in names)
        worker.play(one_shot("after"))
        running.stop()
        worker.close()
        for partition in range(TOPICS.partitions):
            check_chain(held, partition)


def test_a_log_trimmed_under_a_running_owner_is_skipped_and_counted(held: Journal) -> None:
    with EmbeddedBroker({topic.name: topic.partitions for topic in TOPICS.all()}) as trimmed:
        kafka = KafkaConfig(trimmed.bootstrap)
        worker = Worker(kafka)
        running = start_owner(kafka, held, "log-1")
        worker.play(one_shot("before"))
        running.stop()
        for number in range(20):
            worker.send(run_lane(f"lost-{number}"), commands.start_one_shot(f"lost-{number}"))
        worker.drain()
        for partition in range(TOPICS.partitions):
            trimmed.trim(TOPICS.commands.name, partition, 8)
        running = start_owner(kafka, held, "log-1")
        worker.play(one_shot("after"))
        assert running.owner.stats.positions_skipped > 0
        running.stop()
        worker.close()
        for partition in range(TOPICS.partitions):
            check_chain(held, partition)
