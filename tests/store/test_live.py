"""What live streams ask of the journal."""

import pytest

from runlane.contract.commands import ClaimRun, EndSession, PurgeSession
from runlane.contract.errors import RunNotFound
from runlane.store.engine import ClientPool
from runlane.store.live import AsyncLiveReads, LiveReads, RunFacts
from runlane.store.reader import JournalReader
from tests.store.world import NOON, World, a_child, a_note, a_shot, a_start, a_usage, completed


def a_busy_session(world: World) -> str:
    run, child = a_start("run", "a"), a_start("child", "a", "run")
    lane = world.session(0, "a")
    world.start(0, run)
    world.commit(3, ("r/child", ClaimRun("child", lane)))
    world.commit(0, (lane, a_child(run, child)))
    world.commit(0, (lane, a_usage(run, 1, 70)), (lane, a_note(child, 1)), (lane, a_usage(run, 2, 5)))
    return lane


def test_heads_are_the_last_numbers_of_runs_and_of_all_runs(journal: ClientPool) -> None:
    world, reads = World(journal), LiveReads(journal)
    lane = a_busy_session(world)
    last = JournalReader(journal).list_session_run_records("a", "", 100).records[-1]
    world.commit(0, (lane, EndSession("a", NOON)))

    assert reads.head(lane) == last.lane_seq
    assert reads.head(lane, "run") == 4
    assert reads.head(lane, "child") == 2
    assert reads.head(lane, "none") == reads.head("s/none") == 0


def test_a_run_is_found_by_its_claim(journal: ClientPool) -> None:
    world, reads = World(journal), LiveReads(journal)
    lane = a_busy_session(world)
    world.commit(1, ("r/alone", a_shot(a_start("alone"))))

    assert reads.run_lane("child") == lane
    assert reads.run_lane("alone") == "r/alone"
    with pytest.raises(RunNotFound):
        reads.run_lane("none")


def test_facts_count_and_tell_the_last_record_worth_telling(journal: ClientPool) -> None:
    world, reads = World(journal), LiveReads(journal)
    a_busy_session(world)
    alone = a_start("alone")
    world.commit(1, ("r/alone", a_shot(alone)), ("r/alone", a_note(alone, 1)), ("r/alone", completed(alone)))
    reader = JournalReader(journal)
    runs = [reader.load_run(run_id) for run_id in ("run", "child", "alone")]

    facts = reads.facts(runs, ("usage",))

    assert {run_id: (one.records, one.tokens) for run_id, one in facts.items()} == {
        "run": (4, 79),
        "child": (2, 0),
        "alone": (3, 0),
    }
    stored = reader.list_run_records("run", "", 10).records
    assert facts["run"].last == stored[1]
    assert facts["alone"].last is not None
    assert facts["alone"].last.type == "run_completed"
    assert facts["alone"].spoken == reader.list_run_records("alone", "", 10).records[1]
    assert reads.facts([], ()) == {}


def test_dull_records_alone_tell_nothing(journal: ClientPool) -> None:
    world, reads = World(journal), LiveReads(journal)
    world.commit(1, ("r/alone", a_shot(a_start("alone"))))
    run = JournalReader(journal).load_run("alone")

    assert reads.facts([run], ("run_started",)) == {"alone": RunFacts(1, 0, None, None)}


def test_a_purged_run_has_no_facts(journal: ClientPool) -> None:
    world, reads = World(journal), LiveReads(journal)
    lane = a_busy_session(world)
    runs = JournalReader(journal).list_runs_by_session("a")
    for run_id in ("child", "run"):
        world.commit(0, (lane, completed(a_start(run_id, "a", "run" if run_id == "child" else ""))))
    world.commit(0, (lane, EndSession("a", NOON)), (lane, PurgeSession("a")))
    world.erase(lane)

    assert reads.facts(runs, ()) == {}
    assert reads.head(lane) == 0


async def test_the_reads_serve_an_event_loop(journal: ClientPool) -> None:
    lane = a_busy_session(World(journal))
    reads = AsyncLiveReads(journal)
    runs = [JournalReader(journal).load_run("run")]

    assert await reads.run_lane("run") == lane
    assert await reads.head(lane) == 7
    assert (await reads.facts(runs, ()))["run"].records == 4
    reads.close()
