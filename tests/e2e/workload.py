"""What clients ask for in the tests of crashes, and the ledger of what they were told."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from runlane.client import RunStore
from runlane.contract.codec import command_headers
from runlane.contract.ids import session_lane
from runlane.contract.outcomes import AppendResult
from runlane.contract.partitioner import partition_for
from runlane.contract.payloads import RunCompleted, RunStarted
from runlane.contract.topics import Topics
from runlane.contract.values import RunRecord, RunStart, RunStatus
from runlane.kafka import KafkaConfig, Producer

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
AGENT = "agent.test"
APPENDS = 12
T = TypeVar("T")


def note(run_id: str, key: str, *, session_id: str = "", size: int = 100) -> RunRecord:
    """An ordinary record whose payload has about ``size`` bytes."""
    payload = b'{"Note":"%s"}' % (key.encode() * (1 + size // len(key)))[:size]
    return RunRecord(key, run_id, AGENT, session_id, "", "planner_note", payload, AT)


def start_of(run_id: str, session_id: str = "") -> tuple[RunStart, RunRecord, RunRecord]:
    """A root run's start, the record of it, and the one that is written instead in an ended session."""
    run = RunStart(run_id, AGENT, session_id, started_at=AT)
    stopped = RunCompleted.canceled("session_ended").encode()
    return (
        run,
        RunRecord("start", run_id, AGENT, session_id, "", "run_started", RunStarted().encode(), AT),
        RunRecord("stop", run_id, AGENT, session_id, "", "run_completed", stopped, AT),
    )


def end_of(run_id: str, session_id: str = "") -> RunRecord:
    """The record of a run's success."""
    payload = RunCompleted.success().encode()
    return RunRecord("end", run_id, AGENT, session_id, "", "run_completed", payload, AT)


@dataclass
class Ledger:
    """What was acknowledged: record ids by run and event key; how often each operation was resolved.

    ``prefix`` sets the names of its sessions and runs apart.
    """

    prefix: str = ""
    records: dict[tuple[str, str], int] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    resolved: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    async def ask(self, name: str, operation: Awaitable[T]) -> T:
        """Await an operation and note that it was resolved."""
        self.asked[name] += 1
        task = asyncio.ensure_future(operation)
        task.add_done_callback(lambda _: self.resolved.update([name]))
        return await task

    async def append(self, store: RunStore, record: RunRecord) -> None:
        """Append and note the id; one that was noted before must come again."""
        place = (record.run_id, record.event_key)
        result: AppendResult = await self.ask(f"append {place}", store.append_run_record(record))
        self.note(place, result)

    def note(self, place: tuple[str, str], result: AppendResult) -> None:
        """Note a record's id."""
        known = self.records.setdefault(place, int(result.id))
        if known != int(result.id):
            self.faults.append(f"{place} is {known} and {result.id}")

    def hear(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Note what no caller hears of: a future that was resolved again, an error that nobody awaited."""
        self.faults.append(str(context.get("exception") or context["message"]))


async def session_run(store: RunStore, ledger: Ledger, session_id: str, run_id: str, size: int) -> None:
    """A run in a session: claim, start, pipelined appends, one of them twice, the end."""
    run, started, stopped = start_of(run_id, session_id)
    result = await ledger.ask(f"start {run_id}", store.start_root_run(run, started=started, canceled=stopped))
    ledger.note((run_id, "start"), result.started)
    records = [note(run_id, f"note-{n}", session_id=session_id, size=size) for n in range(APPENDS)]
    await asyncio.gather(*(ledger.append(store, record) for record in [*records, records[3]]))
    done = store.record_run_terminal(run_id, RunStatus.COMPLETED, record=end_of(run_id, session_id))
    ledger.note((run_id, "end"), await ledger.ask(f"end {run_id}", done))


async def one_shot(store: RunStore, ledger: Ledger, run_id: str) -> None:
    """A sessionless run whose appends wait for each other."""
    run, started, _ = start_of(run_id)
    result = await ledger.ask(f"start {run_id}", store.start_one_shot_run(run, started=started))
    ledger.note((run_id, "start"), result.record)
    for number in range(4):
        await ledger.append(store, note(run_id, f"note-{number}"))
    done = store.record_run_terminal(run_id, RunStatus.COMPLETED, record=end_of(run_id))
    ledger.note((run_id, "end"), await ledger.ask(f"end {run_id}", done))


async def purged(store: RunStore, ledger: Ledger, session_id: str) -> None:
    """A session that is made, ended and purged."""
    await ledger.ask(f"create {session_id}", store.create_session(session_id, AT))
    await ledger.ask(f"stop {session_id}", store.end_session(session_id, AT + timedelta(hours=1)))
    await ledger.ask(f"purge {session_id}", store.purge_session(session_id))


async def work(store: RunStore, ledger: Ledger, *, size: int = 100) -> None:
    """Everything at once: a session with two runs, sessionless runs, a purged session."""
    asyncio.get_running_loop().set_exception_handler(ledger.hear)
    named = ledger.prefix
    session = f"{named}s"
    await ledger.ask(f"create {session}", store.create_session(session, AT))
    await asyncio.gather(
        session_run(store, ledger, session, f"{named}r-0", size),
        session_run(store, ledger, session, f"{named}r-1", size),
        one_shot(store, ledger, f"{named}o-0"),
        one_shot(store, ledger, f"{named}o-1"),
        purged(store, ledger, f"{named}p"),
    )


async def repeat(store: RunStore, ledger: Ledger, *, size: int = 100) -> None:
    """Append again what was acknowledged: each is known and keeps its id."""
    places = [place for place in ledger.records if place[1].startswith("note-")]
    notes = [
        note(run_id, key, session_id=f"{ledger.prefix}s", size=size)
        if run_id.startswith(f"{ledger.prefix}r-")
        else note(run_id, key)
        for run_id, key in places
    ]
    again = await asyncio.gather(*(store.append_run_record(record) for record in notes))
    assert [(int(result.id), result.inserted) for result in again] == [
        (ledger.records[place], False) for place in places
    ]


@contextmanager
def clients(store: Callable[[], RunStore], *, prefix: str = "", size: int = 100) -> Iterator[Ledger]:
    """Let clients work beside what the body does; when it ends they have been answered."""
    failures: list[BaseException] = []
    ledger = Ledger(prefix)

    async def all_of_it() -> None:
        async with store() as opened:
            await work(opened, ledger, size=size)
            await repeat(opened, ledger, size=size)

    def run() -> None:
        try:
            asyncio.run(all_of_it())
        except BaseException as failure:  # noqa: BLE001 - the test's thread raises it
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield ledger
    finally:
        thread.join()
    if failures:
        raise failures[0]


def send_garbage(kafka: KafkaConfig, topics: Topics) -> None:
    """Send bytes that are no command, into the lane of the session."""
    key = session_lane("s").encode()
    partition = partition_for(key, topics.partitions)
    with Producer(kafka) as producer:
        headers = command_headers("garbage", 0)
        producer.produce(topics.commands.name, b"\x00garbage", key=key, headers=headers, partition=partition)
        assert producer.drain(180.0)
