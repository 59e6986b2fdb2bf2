"""The simulation is worth something only if it sees an owner, or an engine.

Without one of the design's rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from runlane.owner import writing
from runlane.owner.cache import LaneCache
from runlane.owner.outbox import Shipment
from runlane.owner.takeover import Takeover
from runlane.store.block import BlockHeader, Draft, SealedBlock, part_of, seal
from runlane.store.chain import ChainTip
from runlane.store.flight import Flight, Verdict
from tests.owner.simulation.journal import Journal
from tests.owner.simulation.system import System
from tests.owner.simulation.world import World
from tests.owner.test_simulation import EVERYTHING, populate

pytestmark = pytest.mark.slow

SEEDS = range(40)


def trust_acknowledgements(patch: pytest.MonkeyPatch) -> None:
    judge = Flight.judge

    def trusting(self: Flight[Any], tip: ChainTip, max_execution: float) -> Verdict:
        return Verdict.MINE if self._acked else judge(self, tip, max_execution)

    patch.setattr(Flight, "judge", trusting)


def name_the_part_by_the_own_clock(patch: pytest.MonkeyPatch) -> None:
    def sealing(draft: Draft, prev: BlockHeader | None) -> SealedBlock:
        return seal(draft, prev if prev is None else replace(prev, next_part=part_of(draft.time)))

    patch.setattr(writing, "seal", sealing)


def send_nothing_again(patch: pytest.MonkeyPatch) -> None:
    resend: Callable[..., None] = Takeover._resend

    def forgetting(self: Takeover, claim: Any, head: BlockHeader, after: int) -> None:
        resend(self, claim, head, head.last)

    patch.setattr(Takeover, "_resend", forgetting)


def keep_the_lanes_of_a_lost_block(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LaneCache, "drop", lambda self, partition: None)


def count_a_failed_delivery_as_done(patch: pytest.MonkeyPatch) -> None:
    delivered = Shipment.delivered
    patch.setattr(Shipment, "delivered", lambda self, failure: delivered(self, None))


@pytest.mark.parametrize(
    "sabotage",
    [
        trust_acknowledgements,
        name_the_part_by_the_own_clock,
        send_nothing_again,
        keep_the_lanes_of_a_lost_block,
        count_a_failed_delivery_as_done,
    ],
)
def test_the_simulation_sees_an_owner_without(
    sabotage: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sabotage(monkeypatch)
    assert any(_broken(System(seed, faults=EVERYTHING)) for seed in SEEDS)


def test_the_simulation_sees_an_engine_that_takes_late_blocks() -> None:
    journals = (Journal(World(seed), window=12, checks_dates=False) for seed in SEEDS)
    assert any(
        _broken(System(seed, faults=EVERYTHING, journal=journal)) for seed, journal in enumerate(journals)
    )


def _broken(system: System) -> bool:
    try:
        system.begin()
        populate(system)
        system.run(trouble=240)
        system.check()
    except (AssertionError, ValueError):
        return True
    return False
