"""An owner killed at each of its port calls, before and after: nothing lost, nothing doubled (G1, G2)."""

from __future__ import annotations

import pytest

from runlane.owner.tasks import Assigned
from tests.owner.simulation.clients import one_shot
from tests.owner.simulation.system import System
from tests.owner.test_simulation import populate

pytestmark = pytest.mark.slow

TAKEOVER = ("shape", "end", "recorded", "insert", "tips", "facts", "outbox", "pending_erases", "start")
COMMIT = ("load_lanes", "insert", "tips", "send", "commit", "active_parts", "erase")
POINTS = [
    (call, number, after)
    for call in dict.fromkeys(TAKEOVER + COMMIT)
    for number in ((1, 2) if call in (*TAKEOVER, "erase") and call not in COMMIT[:3] else (1, 2, 5))
    if not (call == "outbox" and number == 2)
    for after in (False, True)
    if not (call == "start" and after)
]


@pytest.mark.guarantee("G1")
@pytest.mark.parametrize(("call", "number", "after"), POINTS)
def test_an_owner_killed_at_a_port_call_loses_and_doubles_nothing(
    call: str, number: int, after: bool
) -> None:
    system = System(number, owners=1, partitions=2)
    system.begin()
    first = system.processes[0]
    if call == "outbox":
        leave_something_unsent(system)
        first = system.processes[-1]
    first.crash_at = (call, number, after)
    populate(system)
    system.run(trouble=0)
    assert first.dead, f"the {number}. call of {call} was not reached"
    system.check()


def leave_something_unsent(system: System) -> None:
    """Kill an owner between a commit and its answers; the next one has something to send again."""
    process = system.processes[0]
    process.crash_at = ("send", 1, False)
    populate_one(system)
    while not process.dead:
        system.world.run_until(system.world.now + 0.05)
    while system.processes[-1] is process:
        system.world.run_until(system.world.now + 0.05)


def populate_one(system: System) -> None:
    """One client, so that there is something to do."""
    system.add_client("early", one_shot("early"))


def test_a_frozen_owner_that_wakes_after_its_rival_changes_nothing() -> None:
    system = System(7, owners=2, partitions=1)
    system.begin()
    populate(system)
    system.world.run_until(20.0)
    frozen = system.owner_of(0)
    rival = next(process for process in system.processes if process is not frozen)
    nonce = system.journal.chain(0)[-1].header.nonce
    frozen.frozen_until = system.world.now + 100
    rival.post(Assigned((0,)))
    system._assigned[0] = rival
    system.world.run_until(system.world.now + 99)
    written = len(system.journal.chain(0))
    system.world.run_until(system.world.now + 5)
    assert all(block.header.nonce != nonce for block in system.journal.chain(0)[written:])
    frozen.kill()
    system.run(trouble=0)
    system.check()
