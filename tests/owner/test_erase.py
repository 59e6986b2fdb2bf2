"""Purged lanes are erased one after the other; one that cannot be erased holds up none of the others."""

from __future__ import annotations

import logging

import pytest

from runlane.contract.errors import JournalFault, RunlaneError, Unavailable
from runlane.contract.ids import session_lane
from tests.owner.simulation.clients import agent_session
from tests.owner.simulation.journal import Journal
from tests.owner.simulation.system import System


@pytest.mark.parametrize("failure", [JournalFault("refused"), Unavailable("away")])
def test_a_lane_that_cannot_be_erased_holds_up_none_of_the_others(
    failure: RunlaneError, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    erase, broken = Journal.erase, session_lane("a")

    def failing(journal: Journal, lane: str) -> bool:
        if lane == broken:
            raise failure
        return erase(journal, lane)

    monkeypatch.setattr(Journal, "erase", failing)
    system = System(3, owners=1, partitions=1)
    system.begin()
    for name in "abc":
        system.add_client(name, agent_session(name, 1, purge=True))
    with caplog.at_level(logging.WARNING, "runlane.owner"):
        system.run(trouble=0)
    assert system.journal.erased == {session_lane("b"), session_lane("c")}
    eraser = system.owner_of(0).core.eraser
    assert (eraser.waiting, eraser.erased) == (1, 2)
    assert 1 < eraser.failed < 20
    assert {record.getMessage() for record in caplog.records} == {
        f"erasing lane {broken} failed and is tried again: {failure.code}"
    }

    monkeypatch.setattr(Journal, "erase", erase)
    system.world.run_until(system.world.now + 120)
    assert broken in system.journal.erased
    assert eraser.waiting == 0
