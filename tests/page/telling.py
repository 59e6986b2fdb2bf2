"""Tells a world to a real store: each of its records goes through the command that writes such records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from runlane.client import RunStore
from runlane.client.run_writer import RunWriter
from runlane.contract.payloads import RUN_COMPLETED, SESSION_ENDED_REASON, RunCompleted
from runlane.contract.reader import RunQuery
from runlane.contract.values import RunRecord, RunStart, RunSuspension
from tests.page.world import Run, World

_ALL = RunQuery(limit=1000)


async def tell(store: RunStore, world: World) -> None:
    """Bring every session and run of ``world`` into ``store``, each lane's records in their order.

    Returns once the search, which may lag, finds them all: in a list opened before they wait as newer.
    """
    lanes = [session.records for session in world.sessions.values()]
    for session in world.sessions.values():
        await store.create_session(session.id, session.created_at)
    lanes += [run.records for run in world.runs.values() if run.session is None and not run.parent]
    await asyncio.gather(*(_Lane(store, world).tell(records) for records in lanes))
    while world.runs.keys() - {  # noqa: ASYNC110 - a search has nothing to wait for
        run.run_id for run in (await store.search_runs(_ALL)).runs
    }:
        await asyncio.sleep(0.05)


class _Lane:
    def __init__(self, store: RunStore, world: World) -> None:
        self._store = store
        self._world = world
        self._writers: dict[str, RunWriter] = {}
        self._links: dict[str, RunRecord] = {}

    async def tell(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            run = self._world.runs[record["run_id"]]
            match record["type"]:
                case "child_run_linked" if (child := _child(record, self._world)) is not None:
                    self._links[child.id] = _record(record, timestamp=child.started_at)
                case "run_started":
                    await self._flush()
                    await self._start(run, _record(record))
                case "run_completed":
                    await self._flush()
                    await self._store.record_run_terminal(run.id, run.status, record=_record(record))
                case "run_suspended":
                    await self._flush()
                    suspension = RunSuspension(json.loads(record["payload"])["SuspensionID"], b"{}")
                    await self._store.record_run_suspension(run.id, suspension, record=_record(record))
                case "runtime.cancellation_intent":
                    await self._flush()
                    await self._store.record_run_cancellation(run.id, run.reason, record=_record(record))
                case _:
                    given = _record(record)
                    await self._writers[run.id].post(
                        given.type,
                        given.payload,
                        event_key=given.event_key,
                        turn_id=given.turn_id,
                        timestamp=given.timestamp,
                    )
        await self._flush()

    async def _flush(self) -> None:
        for writer in self._writers.values():
            await writer.flush()

    async def _start(self, run: Run, started: RunRecord) -> None:
        session = run.session.id if run.session else ""
        start = RunStart(run.id, run.agent, session, run.parent, "", run.started_at, run.labels)
        self._writers[run.id] = RunWriter(self._store, start)
        link = self._links.get(run.id)
        stopped = RunCompleted.canceled(SESSION_ENDED_REASON, labels=run.labels).encode()
        canceled = replace(started, type=RUN_COMPLETED, event_key=RUN_COMPLETED, payload=stopped)
        if not session:
            await self._store.start_one_shot_run(start, started=started)
        elif link is None:
            await self._store.start_root_run(start, started=started, canceled=canceled)
        else:
            await self._store.start_child_run(start, parent_linked=link, started=started, canceled=canceled)


def _child(record: Mapping[str, Any], world: World) -> Run | None:
    return world.runs.get(json.loads(record["payload"])["ChildRunID"])


def _record(record: Mapping[str, Any], timestamp: datetime | None = None) -> RunRecord:
    return RunRecord(
        event_key=record["event_key"],
        run_id=record["run_id"],
        agent_id=record["agent_id"],
        session_id=record["session_id"],
        turn_id=record["turn_id"],
        type=record["type"],
        payload=record["payload"].encode(),
        timestamp=timestamp or datetime.fromisoformat(record["timestamp"]),
    )
