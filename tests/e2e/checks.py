"""What must hold after any fault: the journal is sound, and the topics say what it says, however often."""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from functools import partial

from runlane.contract.codec import decode_outcome, decode_record, record_lane_seq
from runlane.contract.times import micros
from runlane.contract.values import CommittedRecord
from runlane.store import Eraser
from tests.e2e.stack import World, wait_for
from tests.e2e.workload import Ledger

Place = tuple[int, int]


def check_world(world: World) -> None:
    """No fault in the journal, no lie in a topic."""
    finish_erases(world)
    faults = world.verify()
    assert not faults, faults
    check_positions(world)
    check_outcomes(world)
    check_records(world)


def finish_erases(world: World) -> None:
    """Erase what a stopped owner left for the next one to erase."""
    eraser = Eraser(world.pool)
    for partition in range(world.topics.partitions):
        for lane in eraser.pending(partition):
            wait_for(partial(eraser.erase, lane), f"lane {lane} is erased")


def check_acknowledged(world: World, *ledgers: Ledger) -> None:
    """Each acknowledged record is there once, under the id that was told; each call was resolved once."""
    told: dict[tuple[str, str], int] = {}
    for ledger in ledgers:
        assert ledger.faults == []
        assert ledger.resolved == ledger.asked
        told |= ledger.records
    rows = world.pool.query(
        "SELECT run_id, event_key, seq FROM journal WHERE kind = 'record' AND run_id != ''"
    )
    stored = Counter((run_id, key) for run_id, key, _ in rows)
    assert set(stored.values()) == {1}
    assert {(run_id, key): int(seq) for run_id, key, seq in rows} == told


def check_positions(world: World) -> None:
    """Each command up to the tip has one answer; those of purged lanes may be erased.

    Behind the tip are commands that were sent again, and for which nobody waits any more.
    """
    rows = world.pool.query("SELECT partition, position FROM journal WHERE kind = 'answer'")
    answered = Counter((int(partition), int(position)) for partition, position in rows)
    assert set(answered.values()) == {1}
    tips = dict(world.pool.query("SELECT partition, max(position) FROM journal GROUP BY partition"))
    lanes, purged = _lanes(world), _purged(world)
    assert answered.keys() <= lanes.keys()
    missing = {place for place in lanes.keys() - answered.keys() if place[1] <= tips[place[0]]}
    assert {lanes[place] for place in missing} <= purged


def check_outcomes(world: World) -> dict[Place, int]:
    """Every outcome that was ever sent is the journal's, byte for byte. Returns how often each was sent."""
    rows = world.pool.query(
        "SELECT partition, position, correlation_id, body, reply FROM journal WHERE kind = 'answer'"
    )
    journaled = {
        (int(partition), int(position)): (str(name), b64decode(body), int(reply))
        for partition, position, name, body, reply in rows
    }
    lanes, purged = _lanes(world), _purged(world)
    sent: Counter[Place] = Counter()
    first: dict[Place, bytes | None] = {}
    for message in world.messages(world.topics.outcomes.name):
        outcome = decode_outcome(message.value)
        place = (outcome.partition, outcome.position)
        sent[place] += 1
        assert first.setdefault(place, message.value) == message.value, f"sent anew with other bytes: {place}"
        if place not in journaled:
            assert lanes[place] in purged, f"an outcome that the journal does not have: {place}"
            continue
        name, body, reply = journaled[place]
        assert (outcome.correlation_id, message.value, message.partition) == (name, body, reply)
    told = {place for place, (_, _, reply) in journaled.items() if reply >= 0}
    assert told <= sent.keys(), f"never sent: {sorted(told - sent.keys())}"
    return dict(sent)


def check_records(world: World) -> None:
    """Every record that was ever sent is the journal's; first sightings come in its order, without a hole."""
    rows = world.pool.query(
        "SELECT lane, lane_seq, run_id, seq, event_key, type, body, block, partition, time"
        " FROM journal WHERE kind = 'record' ORDER BY lane, lane_seq"
    )
    journaled = {(str(row[0]), int(row[1])): tuple(row[2:]) for row in rows}
    purged = _purged(world)
    seen: dict[str, int] = {}
    first: dict[tuple[str, int], bytes | None] = {}
    for message in world.messages(world.topics.records.name):
        record = decode_record(message.value)
        place = (record.lane, record.lane_seq)
        assert record_lane_seq(message.headers) == record.lane_seq
        assert message.key == record.lane.encode()
        assert first.setdefault(place, message.value) == message.value, f"sent anew with other bytes: {place}"
        if record.lane_seq > seen.get(record.lane, 0):
            assert record.lane_seq == seen.get(record.lane, 0) + 1, f"a hole before {place}"
            seen[record.lane] = record.lane_seq
        if place in journaled:
            assert _columns(record) == journaled[place]
        else:
            assert record.lane in purged, f"a record that the journal does not have: {place}"
    missing = {place for place in journaled if place not in first and place[0] not in purged}
    assert missing == set()


def _columns(record: CommittedRecord) -> tuple[object, ...]:
    return (
        record.run_id,
        record.seq,
        record.event_key,
        record.type,
        record.payload.decode(),
        record.block,
        record.partition,
        micros(record.committed_at),
    )


def _lanes(world: World) -> dict[Place, str]:
    commands = world.messages(world.topics.commands.name)
    return {(one.partition, one.offset): (one.key or b"").decode(errors="replace") for one in commands}


def _purged(world: World) -> set[str]:
    rows = world.pool.query("SELECT DISTINCT lane FROM journal WHERE kind = 'tombstone'")
    return {str(lane) for (lane,) in rows}
