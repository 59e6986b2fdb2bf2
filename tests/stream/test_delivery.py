"""When events reach a sink, and what a failing one does (cases of section stream)."""

from __future__ import annotations

import pytest

from runlane.client import MemoryStore
from runlane.contract.errors import InvalidCommand, Unavailable
from runlane.contract.outcomes import RootRunStartResult
from runlane.contract.payloads import RunSuspended, Usage, encode_hook, hook_record
from runlane.contract.stream import (
    DEFAULT,
    METRICS,
    PROFILES,
    Stream,
    StreamEvent,
    StreamType,
)
from runlane.contract.values import SessionStatus, StartOutcome
from tests.client.make import begin, canceled, one_shot, record, start_of, started
from tests.stream.records import committed


class Sink:
    """Keeps what it gets; send number `fails_at` fails."""

    def __init__(self, fails_at: int = 0) -> None:
        self.events: list[StreamEvent] = []
        self.sends = 0
        self.fails_at = fails_at

    async def send(self, event: StreamEvent) -> None:
        self.sends += 1
        if self.sends == self.fails_at:
            raise Unavailable("sink down")
        self.events.append(event)


SUSPENDED = committed("run_suspended", encode_hook(RunSuspended(suspension_id="s")))


@pytest.mark.case("C361")
async def test_an_ended_session_streams_nothing_and_the_write_succeeds(run_store: MemoryStore) -> None:
    sink = Sink()
    await begin(run_store)
    await run_store.end_session("session", record("k").timestamp)
    result = await run_store.append_run_record(record("k"))
    await Stream(sink).deliver(record("k"), result.session_status)
    assert (result.inserted, sink.events) == (True, [])


@pytest.mark.case("C361")
async def test_a_sessionless_run_streams_nothing(run_store: MemoryStore) -> None:
    sink = Sink()
    await one_shot(run_store, "run")
    note = record("k", session="")
    result = await run_store.append_run_record(note)
    await Stream(sink).deliver(note, result.session_status)
    assert (result.inserted, sink.events) == (True, [])


@pytest.mark.case("C362")
async def test_the_retry_after_a_failed_delivery_delivers_the_same_event(run_store: MemoryStore) -> None:
    sink = Sink(fails_at=1)
    await begin(run_store)
    first = await run_store.append_run_record(record("k"))
    with pytest.raises(Unavailable):
        await Stream(sink).deliver(record("k"), first.session_status)
    second = await run_store.append_run_record(record("k"))
    await Stream(sink).deliver(record("k"), second.session_status)
    assert (first.inserted, second.inserted) == (True, False)
    assert [event.identity for event in sink.events] == [("run", "planner_thought", "k")]


async def test_a_sink_that_fails_in_the_middle_got_what_came_before() -> None:
    """Golden line sink_fails_2."""
    sink = Sink(fails_at=2)
    with pytest.raises(Unavailable):
        await Stream(sink).deliver(SUSPENDED, SessionStatus.ACTIVE)
    (delivered,) = sink.events
    assert delivered.type is StreamType.WORKFLOW
    assert delivered.payload == b'{"phase":"suspended","status":"suspended"}'


@pytest.mark.case("C364")
async def test_a_stopped_start_streams_nothing(run_store: MemoryStore) -> None:
    sink = Sink()
    run = start_of()
    await run_store.create_session("session", run.started_at)
    await run_store.end_session("session", run.started_at)
    result: RootRunStartResult = await run_store.start_root_run(
        run, started=started(run), canceled=canceled(run)
    )
    assert result.outcome is StartOutcome.STOP
    assert result.started.session_status is result.canceled.session_status is SessionStatus.ENDED
    await Stream(sink).deliver(started(run), result.started.session_status)
    await Stream(sink).deliver(canceled(run), result.canceled.session_status)
    assert sink.sends == 0


@pytest.mark.case("C365")
async def test_metrics_get_usage_and_workflow_with_its_end() -> None:
    sink = Sink()
    usage = hook_record(
        Usage(total_tokens=1),
        event_key="u",
        run_id="run-1",
        agent_id="a",
        session_id="s",
        timestamp=SUSPENDED.timestamp,
    )
    for given in (usage, SUSPENDED, committed("planner_note", b'{"Note":"n"}')):
        await Stream(sink, METRICS).deliver(given, SessionStatus.ACTIVE)
    assert [event.type for event in sink.events] == ["usage", "workflow", "run_stream_end"]


@pytest.mark.case("C365")
async def test_without_workflow_there_is_no_end_mark() -> None:
    sink = Sink()
    profile = DEFAULT.without(StreamType.WORKFLOW)
    await Stream(sink, profile).deliver(SUSPENDED, SessionStatus.ACTIVE)
    assert sink.events == []
    assert StreamType.RUN_STREAM_END not in profile
    assert StreamType.RUN_STREAM_END in DEFAULT.without(StreamType.RUN_STREAM_END)


def test_a_stream_needs_a_sink() -> None:
    with pytest.raises(InvalidCommand) as refused:
        Stream(None)
    assert refused.value.code == "sink_required"


def test_all_profiles_but_metrics_let_everything_through() -> None:
    assert {name for name, profile in PROFILES.items() if profile.types == set(StreamType)} == {
        "default",
        "user_chat",
        "agent_debug",
    }
