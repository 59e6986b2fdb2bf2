"""The scripted session, told to a store in memory."""

from datetime import UTC, datetime

import pytest

from runlane.client import MemoryStore
from runlane.contract.errors import RunConflict
from runlane.contract.values import RunStatus, SessionStatus, StartOutcome
from runlane.service.demo import Names, Pass, play, scripted_session
from runlane.service.demo.script import CHECKPOINT

NAMES = Names("demo-1")
NOON = datetime(2026, 3, 1, 12, 0, 0, 7000, tzinfo=UTC)


def ignore(_step: object) -> None:
    """Show nothing."""


async def test_the_session_is_stored_as_it_is_told() -> None:
    store = MemoryStore()

    done = await play(store, scripted_session(NAMES, NOON), ignore)

    runs = {run_id: await store.load_run(run_id) for run_id in NAMES.runs()}
    assert [run.status for run in runs.values()] == [
        RunStatus.SUSPENDED,
        RunStatus.COMPLETED,
        RunStatus.COMPLETED,
        RunStatus.CANCELED,
        RunStatus.CANCELED,
    ]
    assert runs[NAMES.summary].parent_run_id == NAMES.research
    assert runs[NAMES.late].start_outcome is StartOutcome.STOP
    assert (await store.load_run_suspension(NAMES.research)).data == CHECKPOINT
    assert await store.load_session_status(NAMES.session) is SessionStatus.ENDED
    page = await store.list_session_run_records(NAMES.session, "", 1000)
    assert done == Pass(written=sum(record.seq > 0 for record in page.records), repeated=0, known=0)


async def test_a_second_telling_is_all_exact_retries() -> None:
    store = MemoryStore()
    first = await play(store, scripted_session(NAMES, NOON), ignore)
    before = await store.list_session_run_records(NAMES.session, "", 1000)

    second = await play(store, scripted_session(NAMES, NOON), ignore)

    assert second == Pass(written=0, repeated=first.written, known=1)
    assert await store.list_session_run_records(NAMES.session, "", 1000) == before


async def test_progress_is_told_step_by_step() -> None:
    seen: list[str] = []

    await play(MemoryStore(), scripted_session(NAMES, NOON), lambda step: seen.append(step.text))

    assert len(seen) == len(scripted_session(NAMES, NOON)) == len(set(seen))
    assert seen[0] == "session demo-1 is created"


async def test_another_refusal_ends_the_telling() -> None:
    store = MemoryStore()
    await store.claim_run(NAMES.research, "s/elsewhere")

    with pytest.raises(RunConflict):
        await play(store, scripted_session(NAMES, NOON), ignore)
