"""Each typed stop: what causes it, that it holds the partition, and the command that answers it.

Design, Takeover.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from runlane.contract.codec import command_headers, encode_command
from runlane.contract.commands import Command
from runlane.contract.decide import Decision, Meta, decide
from runlane.contract.errors import ErrorInfo, Unavailable
from runlane.contract.ids import run_lane
from runlane.contract.state import LaneView
from runlane.owner import takeover
from runlane.owner.adopt import adopt_log
from runlane.owner.batch import Decide
from runlane.owner.chain import Phase
from runlane.store.block import BlockKind, LogId, SealedBlock
from runlane.store.flight import InsertReport
from runlane.store.repair import repair
from runlane.store.stops import ANSWERS, StopKind
from tests.owner.simulation import commands
from tests.owner.simulation.clients import one_shot
from tests.owner.simulation.journal import InsertFate
from tests.owner.simulation.process import Process
from tests.owner.simulation.system import BOUNDS, CONFIG, System

SOME = 30.0


def settled_system(**changes: object) -> System:
    """One partition, one owner, three runs decided, answered and committed."""
    system = System(1, owners=1, partitions=1, config=replace(CONFIG, **changes))
    system.begin()
    work(system, "first", 3)
    return system


def work(system: System, name: str, runs: int) -> None:
    """Let clients finish some runs."""
    for number in range(runs):
        system.add_client(f"{name}{number}", one_shot(f"{name}-{number}"))
    system.run(trouble=0)


def restart(system: System) -> Process:
    """Kill the owner; the next one takes over."""
    system.owner_of(0).kill()
    system.world.run_until(system.world.now + SOME)
    return system.owner_of(0)


def stop_of(process: Process) -> StopKind | None:
    """Return why the partition is held."""
    stop = process.core.stops().get(0)
    return None if stop is None else stop.kind


def adopt(system: System, process: Process) -> StopKind:
    """Answer the stop with ``adopt-log``, and let the owner notice."""
    adopted = adopt_log(process.ports, 0, BOUNDS)
    assert adopted is not None
    assert system.broker.committed[0] == adopted.offset
    system.world.run_until(system.world.now + SOME)
    return adopted.kind


def tip(system: System) -> int:
    """Return the last decided position."""
    return system.journal.chain(0)[-1].header.last


def forget_log(system: System, topic: str) -> None:
    """Delete the commands topic and make it anew; its consumer group keeps its offsets."""
    system.broker.log = LogId("cluster", topic)
    system.broker.commands.clear()
    system.broker.low.clear()


def test_a_replaced_log_is_a_stop_that_adopting_answers() -> None:
    system = settled_system()
    before = tip(system)
    forget_log(system, "topic-2")
    owner = restart(system)
    assert stop_of(owner) is StopKind.LOG_REPLACED
    assert adopt(system, owner) is StopKind.LOG_REPLACED
    assert owner.core.chains[0].phase is Phase.OPEN
    work(system, "second", 2)
    header = system.journal.chain(0)[-1].header
    assert header.base == before + 1
    assert header.log == LogId("cluster", "topic-2")


def test_a_log_trimmed_past_the_tip_is_a_stop_and_the_lost_range_is_journaled() -> None:
    system = settled_system()
    before = tip(system)
    system.owner_of(0).kill()
    for _ in range(5):
        system.broker.produce(0, b"r/x", b"lost", [])
    system.broker.trim(0, before + 1 + 3)
    system.world.run_until(system.world.now + SOME)
    owner = system.owner_of(0)
    assert stop_of(owner) is StopKind.LOG_TRIMMED
    assert adopt(system, owner) is StopKind.LOG_TRIMMED
    adoption = next(b.header for b in system.journal.chain(0) if b.header.kind is BlockKind.ADOPT)
    assert (adoption.first, adoption.last, adoption.base) == (before + 1, before + 3, 0)
    work(system, "second", 2)


def test_a_truncated_log_is_a_stop_and_is_adopted_from_its_end() -> None:
    system = settled_system()
    before = tip(system)
    del system.broker.commands[0][-2:]
    owner = restart(system)
    assert stop_of(owner) is StopKind.LOG_TRUNCATED
    assert adopt(system, owner) is StopKind.LOG_TRUNCATED
    work(system, "second", 2)
    assert system.journal.chain(0)[-1].header.base == 2
    assert tip(system) > before


def test_another_message_at_the_tip_is_a_stop() -> None:
    system = settled_system()
    last = system.broker.commands[0][-1]
    system.broker.commands[0][-1] = last._replace(value=b"another")
    owner = restart(system)
    assert stop_of(owner) is StopKind.TIP_CHANGED
    assert adopt(system, owner) is StopKind.TIP_CHANGED
    work(system, "second", 2)


def test_a_group_offset_past_the_tip_is_a_stop() -> None:
    system = settled_system()
    right = system.broker.committed[0]
    system.broker.committed[0] = right + 7
    owner = restart(system)
    assert stop_of(owner) is StopKind.OFFSET_AHEAD
    assert adopt(system, owner) is StopKind.OFFSET_AHEAD
    assert system.broker.committed[0] == right
    work(system, "second", 2)


def test_a_first_log_that_does_not_begin_at_zero_is_a_stop() -> None:
    system = System(1, owners=1, partitions=1)
    system.broker.low[0] = 4
    system.begin()
    system.world.run_until(SOME)
    owner = system.owner_of(0)
    assert stop_of(owner) is StopKind.LOG_BEGINS_LATE
    assert adopt(system, owner) is StopKind.LOG_BEGINS_LATE
    assert tip(system) == 3
    work(system, "second", 2)


def test_fewer_partitions_than_recorded_are_a_stop_before_anything_is_written() -> None:
    system = settled_system()
    blocks = len(system.journal.chain(0))
    system.broker.partitions = 0
    owner = restart(system)
    assert stop_of(owner) is StopKind.PARTITIONS_MISSING
    assert len(system.journal.chain(0)) == blocks


def test_a_chain_decided_by_newer_logic_is_a_stop_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(takeover, "LOGIC_VERSION", 99)
        system = settled_system()
    blocks = len(system.journal.chain(0))
    owner = restart(system)
    assert stop_of(owner) is StopKind.LOGIC_TOO_OLD
    assert len(system.journal.chain(0)) == blocks


def test_an_acknowledged_block_whose_part_is_gone_is_a_stop_that_only_a_repair_answers() -> None:
    system = settled_system()
    lost = system.journal.chain(0)[-1].header
    system.journal.lose(0)
    owner = restart(system)
    assert stop_of(owner) is StopKind.BLOCK_MISSING
    with pytest.raises(Unavailable):
        write_a_block_during(system, owner)
    repaired = repair(owner.ports, 0, BOUNDS)
    assert (repaired.number, repaired.generation) == (lost.number - 1, 2)
    system.world.run_until(system.world.now + SOME)
    assert stop_of(owner) is StopKind.OFFSET_AHEAD
    adopt(system, owner)
    work(system, "second", 2)
    numbers = [block.header.number for block in system.journal.chain(0)]
    assert numbers == list(range(len(numbers)))
    assert system.journal.chain(0)[-1].header.generation == 2


def write_a_block_during(system: System, owner: Process) -> None:
    """Repair while the chain moves: its end vanishes once more."""
    chain = system.journal.blocks[0]
    taken = chain[-1]
    system.world.after(2.0, lambda: chain.remove(taken))
    try:
        repair(owner.ports, 0, BOUNDS)
    finally:
        chain.append(taken)


@pytest.mark.parametrize("refused", [set(BlockKind), {BlockKind.COMMIT}])
def test_a_block_that_the_database_refuses_for_good_is_a_stop(
    refused: set[BlockKind], monkeypatch: pytest.MonkeyPatch
) -> None:
    system = settled_system()
    accept = InsertFate.insert

    def insert(self: InsertFate, block: SealedBlock, not_after: datetime) -> InsertReport:
        return InsertReport.REFUSED if block.header.kind in refused else accept(self, block, not_after)

    monkeypatch.setattr(InsertFate, "insert", insert)
    system.add_client("refused", one_shot("refused"))
    system.world.run_until(system.world.now + 200)
    assert stop_of(system.owner_of(0)) is StopKind.BLOCK_REFUSED


def breaks(view: LaneView, command: Command, meta: Meta) -> Decision:
    if view.lane == "r/poison":
        raise ZeroDivisionError
    return decide(view, command, meta)


def decides_what_no_answer_can_say(view: LaneView, command: Command, meta: Meta) -> Decision:
    if view.lane == "r/poison":
        return Decision(None, ErrorInfo("Poison", "poison", "an unpaired \ud800", False))
    return decide(view, command, meta)


@pytest.mark.parametrize("decides", [breaks, decides_what_no_answer_can_say])
def test_a_command_that_cannot_be_decided_holds_its_partition_after_what_stands_before_it(
    decides: Decide,
) -> None:
    system = System(1, owners=1, partitions=1, decides=decides)
    for run_id in ("good-1", "good-2", "poison", "good-3"):
        data = encode_command(commands.start_one_shot(run_id))
        system.broker.produce(0, run_lane(run_id).encode(), data, command_headers("ask", 1))
    system.begin()
    system.world.run_until(SOME)
    assert stop_of(system.owner_of(0)) is StopKind.DECISION_FAILED
    assert "position 2 " in system.owner_of(0).core.stops()[0].message
    assert tip(system) == 1
    answered = [answer.outcome for _, answer, _ in system.journal.changes()]
    assert answered == [message.value for message in system.broker.outcomes()]
    assert len(answered) == 2


def test_every_stop_names_a_command() -> None:
    assert set(ANSWERS) == set(StopKind)
    assert all(answer.startswith("runlane ") for answer in ANSWERS.values())


def test_adopting_a_log_that_agrees_with_the_chain_changes_nothing() -> None:
    system = settled_system()
    blocks = len(system.journal.chain(0))
    assert adopt_log(system.owner_of(0).ports, 0, BOUNDS) is None
    assert len(system.journal.chain(0)) == blocks


def test_the_embedded_owner_adopts_a_new_log_by_itself_and_sends_again_what_was_unsent() -> None:
    system = settled_system(adopts=frozenset({StopKind.LOG_REPLACED}))
    forget_log(system, "topic-2")
    system.broker.committed.clear()
    system.broker.sent.clear()
    watermark = system.journal.chain(0)[-1].header.watermark
    owner = restart(system)
    assert stop_of(owner) is None
    work(system, "second", 2)
    unsent = {answer.outcome for _, answer, _ in system.journal.changes() if answer.position > watermark}
    assert unsent <= {message.value for message in system.broker.outcomes()}


def test_what_was_unsent_is_sent_after_an_operator_adopted_the_log() -> None:
    system = settled_system()
    forget_log(system, "topic-2")
    system.broker.committed.clear()
    system.broker.sent.clear()
    watermark = system.journal.chain(0)[-1].header.watermark
    owner = restart(system)
    adopt(system, owner)
    assert stop_of(owner) is None
    unsent = {answer.outcome for _, answer, _ in system.journal.changes() if answer.position > watermark}
    assert unsent
    assert unsent <= {message.value for message in system.broker.outcomes()}


def test_the_embedded_owner_skips_what_was_trimmed_under_it_and_counts_it() -> None:
    system = settled_system(adopts=frozenset({StopKind.LOG_TRIMMED}))
    owner = system.owner_of(0)
    before = tip(system)
    owner.frozen_until = system.world.now + 10
    for _ in range(8):
        system.broker.produce(0, b"r/x", b"lost", [])
    system.broker.trim(0, before + 1 + 6)
    system.world.run_until(system.world.now + SOME)
    assert stop_of(owner) is None
    assert owner.core.stats.positions_skipped == 6
    assert tip(system) == before + 8
    work(system, "second", 2)


def test_a_hole_that_the_log_itself_made_is_passed() -> None:
    system = settled_system()
    before = tip(system)
    system.broker.skip(0, 3)
    work(system, "second", 2)
    assert any(b.header.first <= before + 2 <= b.header.last for b in system.journal.chain(0))
    assert system.owner_of(0).core.stats.positions_skipped == 0
