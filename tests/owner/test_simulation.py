"""Seeded runs of the whole owner in a world that fails at every port (design, Committing; G1 to G6, G9)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.owner.simulation.clients import agent_session, one_shot
from tests.owner.simulation.system import BOUNDS, CONFIG, System
from tests.owner.simulation.world import Faults

EVERYTHING = Faults(
    unknown_insert=0.08,
    late_insert=0.08,
    busy_insert=0.05,
    failed_read=0.05,
    failed_delivery=0.005,
    full_queue=0.02,
    crash=0.003,
    freeze=0.01,
    duplicate=0.1,
)


TIGHT = replace(
    CONFIG,
    bounds=replace(
        BOUNDS,
        batch_commands=3,
        batch_bytes=4_000,
        cache_bytes=20_000,
        lane_bytes=4_000,
        load_lanes=2,
        outbox_bytes=3_000,
        page_bytes=500,
        pending_bytes=3_000,
    ),
)
"""Bounds so small that lanes come and go, keys are read one by one and fetching is paused all the time."""


def populate(system: System) -> None:
    """Sessions that are ended, one in three purged, and sessionless runs, over some minutes."""
    for number in range(6):
        system.add_client(f"s{number}", agent_session(f"session-{number}", 3, purge=number % 3 == 1))
    for number in range(4):
        system.add_client(f"o{number}", one_shot(f"solo-{number}"))


def test_a_calm_world_answers_every_command_once() -> None:
    system = System(0, owners=1)
    system.begin()
    populate(system)
    system.run(trouble=0)
    system.check()


FAST = 30
SEEDS = [seed if seed < FAST else pytest.param(seed, marks=pytest.mark.slow) for seed in range(200)]
"""The first ones run with the fast tests."""


@pytest.mark.parametrize("seed", SEEDS)
def test_every_guarantee_holds_in_a_world_of_faults(seed: int) -> None:
    system = System(seed, faults=EVERYTHING, config=TIGHT if seed % 2 else CONFIG)
    system.begin()
    populate(system)
    system.run(trouble=240)
    system.check()
