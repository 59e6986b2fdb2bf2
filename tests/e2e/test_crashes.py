"""Owners killed at each of their port calls, before and after, on a real Kafka; the database outlives them.

The list of calls is that of the ports: a port method that no point covers fails the first test.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_type_hints

import pytest

from runlane.contract.signing import Keyring
from runlane.kafka import Consumer, GroupSettings, Partition
from runlane.owner.config import OwnerConfig
from runlane.owner.ports import ClockPort, IdsPort, Ports
from runlane.store.stops import StopKind
from tests.e2e.checks import check_acknowledged, check_outcomes, check_world
from tests.e2e.gates import Action, When
from tests.e2e.stack import FAST, HOST_KEY, OWNER_KEYS, ClickHouse, OwnerProcess, World
from tests.e2e.workload import clients, send_garbage
from tests.harness.kafka import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.guarantee("G1")]

NARROW = replace(FAST, pending_bytes=4_096, lane_bytes=2_000, batch_commands=7)
"""So little room that the log is paused and lanes are too large to be held with their keys."""
ADOPTING = OwnerConfig(Keyring([HOST_KEY]), OWNER_KEYS, adopts=frozenset({StopKind.OFFSET_AHEAD}))
BEFORE_AND_AFTER = (When.BEFORE, When.AFTER)


@dataclass(frozen=True, slots=True)
class Point:
    """Where an owner is killed: at the ``nth`` call of a port method, that is about ``of``.

    ``takes_over``: the killed owner is the successor of one that was killed before it had sent everything.
    ``member``: as a member of the group, else with the partitions assigned. ``adopts``: it finds the group's
    offset past the tip, and adopts that. ``narrow``: with little room.
    """

    call: str
    nth: int = 1
    of: str = ""
    takes_over: bool = False
    member: bool = False
    adopts: bool = False
    narrow: bool = False
    whens: tuple[When, ...] = field(default=BEFORE_AND_AFTER)


TAKEOVER = (
    Point("begin", takes_over=True, member=True),
    Point("poll", takes_over=True, member=True),
    Point("shape", takes_over=True),
    Point("end", takes_over=True),
    Point("recorded_partition_count"),
    Point("insert", of="claim", takes_over=True),
    Point("insert", of="claim", nth=2),
    Point("tips", takes_over=True),
    Point("facts", takes_over=True),
    Point("insert", of="adopt", takes_over=True, adopts=True),
    Point("force_offset", takes_over=True, adopts=True),
    Point("outbox", takes_over=True),
    Point("send", of="outcomes", takes_over=True),
    Point("start", takes_over=True, member=True),
    Point("pending_erases", takes_over=True),
)
COMMIT = (
    Point("poll", of="messages", whens=(When.AFTER,)),
    Point("pause", narrow=True),
    Point("resume", narrow=True),
    Point("load_lanes"),
    Point("load_keys", narrow=True),
    Point("insert", of="commit"),
    Point("insert", of="commit", nth=4),
    Point("tips", nth=4),
    Point("send", of="outcomes", nth=5),
    Point("send", of="records", nth=2),
    Point("send", of="rejected"),
    Point("commit", member=True),
    Point("commit", nth=2),
    Point("active_parts"),
    Point("erase"),
)
POINTS = [(point, when) for point in TAKEOVER + COMMIT for when in point.whens]
NOT_KILLED_AT = {
    "start_generation": "only repair calls it, while no owner runs",
    "renew": "it makes clients, after one owner and before the next: tests/owner/test_new_clients.py",
    **dict.fromkeys(("now", "monotonic", "sleep", "nonce", "jitter"), "it reads this process alone"),
}


def test_every_port_call_is_a_point() -> None:
    ports = get_type_hints(Ports).values()
    calls = {name for port in ports for name in vars(port) if not name.startswith("_")}
    assert {"now", "nonce"} <= calls, (ClockPort, IdsPort)
    assert {point.call for point in TAKEOVER + COMMIT} | NOT_KILLED_AT.keys() == calls


@pytest.fixture
def world(kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path) -> Iterator[World]:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path) as made:
        yield made


def killed_by_itself(owner: OwnerProcess) -> bool:
    """Wait for an owner's end; return whether a rule ended it."""
    owner.wait_until_dead()
    return owner.exitcode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("point", "when"), POINTS, ids=lambda value: value.call if isinstance(value, Point) else None
)
def test_an_owner_killed_at_a_port_call_loses_and_doubles_nothing(
    world: World, point: Point, when: When
) -> None:
    bounds = NARROW if point.narrow else FAST
    rule = world.rule(call=point.call, when=when, action=Action.KILL, nth=point.nth, of=point.of)
    send_garbage(world.kafka, world.topics)
    with clients(world.client, size=1_000 if point.narrow else 100) as ledger:
        if point.takes_over:
            leave_something_unsent(world)
        if point.adopts:
            put_offset_ahead(world)
        config = ADOPTING if point.adopts else None
        doomed = world.owner(rule, direct=not point.member, bounds=bounds, config=config)
        assert killed_by_itself(doomed), "the call was not reached"
        assert rule.reached.exists()
        healer = world.owner(direct=not point.member, bounds=bounds, config=config)
    healer.stop()
    check_acknowledged(world, ledger)
    check_world(world)
    if (point.call, point.nth, when) == ("commit", 1, When.BEFORE):
        assert max(check_outcomes(world).values()) > 1, "what no offset was committed for is sent again"


def leave_something_unsent(world: World) -> None:
    """Let an owner die with blocks committed and none of their outcomes sent."""
    rule = world.rule(call="send", when=When.BEFORE, action=Action.KILL, of="outcomes", nth=2)
    assert killed_by_itself(world.owner(rule, direct=True))


def put_offset_ahead(world: World) -> None:
    """Move the group's offsets past what was decided."""
    with Consumer(world.kafka, group=GroupSettings(f"{world.topics.prefix}owners")) as consumer:
        consumer.commit_now(
            {
                Partition(world.topics.commands.name, number): 1_000
                for number in range(world.topics.partitions)
            }
        )
