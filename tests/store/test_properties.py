"""Whatever is decided comes back: commands, sealed and inserted, load as the states they were applied to."""

import itertools
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runlane.contract.commands import (
    ClaimRun,
    Command,
    CreateSession,
    EndSession,
    PurgeSession,
    RecordRunCancellation,
)
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.payloads import CancellationIntent
from runlane.contract.values import CommittedRecord
from runlane.store.engine import ClientPool
from runlane.store.reader import JournalReader
from tests.store.state import same_state
from tests.store.world import (
    NOON,
    World,
    a_child,
    a_note,
    a_record,
    a_root,
    a_shot,
    a_shot_child,
    a_start,
    completed,
    suspended,
)

pytestmark = pytest.mark.slow

SESSIONS = ("a", "b'\\", "ünï {x:String} %s")
RUNS = ("1", '2"')
KINDS = (
    "create",
    "start",
    "note",
    "child",
    "suspend",
    "cancel",
    "complete",
    "end",
    "purge",
    "shot",
    "shot note",
    "shot child",
)
EXAMPLES = itertools.count(1)
"""Each example has a chain and names of its own, so that the table need not be emptied."""
step = st.tuples(st.sampled_from(KINDS), st.sampled_from(SESSIONS), st.sampled_from(RUNS), st.integers(0, 3))
BEGIN = [("create", session, "1", 0) for session in SESSIONS] + [
    ("start", session, "1", 0) for session in SESSIONS
]
block = st.lists(step, max_size=12)
payload = st.binary(max_size=300)


def commands(step: tuple[str, str, str, int], data: bytes, prefix: str) -> list[tuple[str, Command]]:
    """Return a step's commands with their lanes: a start follows its run's claim."""
    kind, session, name, number = step
    session = prefix + session
    lane = session_lane(session)
    run = a_start(f"{session}/{name}", session)
    child = a_start(f"{session}/{name}/{number}", session, run.run_id)
    shot = a_start(f"{prefix}shot {name}")
    shot_child = a_start(f"{shot.run_id}/{number}", parent=shot.run_id)
    home = run_lane(shot.run_id)
    reason = f"reason {number}"
    intent = a_record(
        run, f"cancel {number}", "runtime.cancellation_intent", CancellationIntent(reason=reason).encode()
    )
    found: dict[str, tuple[str, Command]] = {
        "create": (lane, CreateSession(session, NOON)),
        "start": (lane, a_root(run)),
        "note": (lane, a_note(run, number)),
        "child": (lane, a_child(run, child)),
        "suspend": (lane, suspended(run, data or b"\0")),
        "cancel": (lane, RecordRunCancellation(run.run_id, reason, intent)),
        "complete": (lane, completed(child if number % 2 else run)),
        "end": (lane, EndSession(session, NOON)),
        "purge": (lane, PurgeSession(session)),
        "shot": (home, a_shot(shot)),
        "shot note": (home, a_note(shot, number)),
        "shot child": (home, a_shot_child(shot, shot_child)),
    }
    claims = {"start": (run, lane), "child": (child, lane), "shot child": (shot_child, home)}
    if kind in claims:
        claimed, to = claims[kind]
        return [(run_lane(claimed.run_id), ClaimRun(claimed.run_id, to)), found[kind]]
    return [found[kind]]


@pytest.mark.guarantee("G9")
@settings(max_examples=15, deadline=None)
@given(blocks=st.lists(block, min_size=1, max_size=6), data=payload)
def test_any_state_equals_the_fold_of_its_rows(
    pool: ClientPool, blocks: Sequence[Sequence[tuple[str, str, str, int]]], data: bytes
) -> None:
    partition = next(EXAMPLES)
    world = World(pool)
    said: list[CommittedRecord] = []
    for steps in (BEGIN, *blocks):
        named = (one for step in steps for one in commands(step, data, f"{partition} "))
        decided = world.decide(partition, *named)
        said += [record for _, changes in decided for record in changes.records]
        world.write(world.seal(partition, decided))
    loaded = world.lanes.load_lanes(sorted(world.states), max_bytes=10**9)
    for lane, state in world.states.items():
        assert same_state(loaded[lane], state)
    purged = {lane for lane, state in world.states.items() if state.session and state.session.purged}
    reader = JournalReader(pool)
    for state in world.states.values():
        for run in state.runs():
            records = list(all_pages(reader, run.run_id))
            assert records == [record for record in said if record.run_id == run.run_id]
            assert [record.seq for record in records] == list(range(1, len(records) + 1))
    sent = world.chains.outbox(partition, -1, world.partitions[partition].position, 10**9).items
    assert [item for item in sent if isinstance(item, CommittedRecord) and item.lane not in purged] == [
        record for record in said if record.lane not in purged
    ]


def all_pages(reader: JournalReader, run_id: str) -> Iterator[CommittedRecord]:
    cursor = ""
    while True:
        page = reader.list_run_records(run_id, cursor, 2)
        yield from page.records
        if not page.next_cursor:
            return
        cursor = page.next_cursor
