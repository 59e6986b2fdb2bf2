"""A partition that stops: what it knew before, how an operator sees it stopped, that it goes on after.

One partition, so that nothing else is going on beside the one that stops.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from runlane.client import RunStore
from runlane.contract.ids import session_lane
from tests.e2e.operating import settings
from tests.e2e.stack import PATIENCE, World
from tests.e2e.workload import AT, note, start_of
from tests.service.commands import Process, runlane_json

LANE = session_lane("s").encode()
NOTES = 3


@dataclass(frozen=True)
class Before:
    """What was acknowledged before something broke."""

    records: tuple[tuple[str, str], ...]


async def past(world: World) -> Before:
    """Let a run have a history, then let its owner go."""
    owner = world.owner()
    async with world.client() as store:
        await store.create_session("s", AT)
        run, started, stopped = start_of("run", "s")
        await store.start_root_run(run, started=started, canceled=stopped)
        for number in range(NOTES):
            await store.append_run_record(note("run", f"note-{number}", session_id="s"))
        before = Before(await told(store))
    owner.stop()
    return before


async def told(store: RunStore) -> tuple[tuple[str, str], ...]:
    """Return ids and keys of the run's records, as the read API tells them."""
    page = await store.list_run_records("run", "", 100)
    return tuple((record.id, record.event_key) for record in page.records)


async def goes_on(world: World, before: Before) -> None:
    """A new owner opens the partition: what was is there, a repetition is known, a new record follows."""
    owner = world.owner()
    async with world.client() as store:
        again = await store.append_run_record(note("run", "note-0", session_id="s"))
        assert (again.id, again.inserted) == ("2", False)
        new = await store.append_run_record(note("run", "new", session_id="s"))
        assert new.inserted
        assert (await told(store))[: len(before.records)] == before.records
    owner.stop()
    assert world.verify() == []


@contextmanager
def seen_stopped(world: World, kind: str, answer: str) -> Iterator[dict[str, str]]:
    """`runlane owner` says in its log and on `/readyz` how it is stopped; its chain does not move."""
    given = settings(world)
    with Process("owner", **given) as owner:
        said = json.loads(owner.wait_for("partition stopped"))
        assert (said["partition"], said["stop"], said["answer"]) == (0, kind, answer)
        ready = httpx2.get(f"http://{given['METRICS_LISTEN']}/readyz", timeout=PATIENCE)
        assert (ready.status_code, ready.json()["faults"]["partition 0"]) == (503, f"{kind}: {answer}")
        (chain,) = inspected(given)
        assert chain["kind"] == "claim"
        yield given
        assert inspected(given) == [chain]
        assert owner.end(signal.SIGTERM) == 0


def inspected(given: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = runlane_json("inspect", "chains", **given)
    return found


def adopt(given: dict[str, str], kind: str) -> dict[str, int]:
    """Adopt the log, for what the owner stopped at; a second time there is nothing to adopt."""
    adopted: dict[str, int] = runlane_json("adopt-log", "--partition", "0", **given)
    assert adopted["kind"] == kind
    (chain,) = inspected(given)
    assert (chain["kind"], chain["base"]) == ("adopt", adopted["base"])
    return adopted


def tip_offset(world: World) -> int:
    """The offset behind the last command that is decided, while nothing was adopted."""
    ((last,),) = world.pool.query("SELECT max(position) FROM journal WHERE kind = 'answer'")
    return int(last) + 1
