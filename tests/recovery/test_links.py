"""`ensure_child_run_link` (contract 10)."""

from __future__ import annotations

from typing import Any

import pytest

from runlane.client import MemoryStore
from runlane.client.recovery import ensure_child_run_link
from runlane.contract.errors import CorruptRun, InvalidCommand, RunNotFound, Unavailable
from runlane.contract.stream import Stream
from tests.client.make import one_shot, one_shot_child
from tests.client.scripted import NOW
from tests.recovery.doubles import Meddled, Pauses, Sink, changed, types_of, without


async def test_the_stored_link_is_delivered_again(store: MemoryStore) -> None:
    before = await types_of(store)
    for _ in range(2):
        sink = Sink()
        await ensure_child_run_link("child", store=store, stream=Stream(sink))
        assert [event.identity for event in sink.events] == [("run", "child_run_linked", "link/child")]
    assert await types_of(store) == before


async def test_an_ended_session_gets_no_link(store: MemoryStore) -> None:
    await store.end_session("session", NOW)
    sink = Sink()
    await ensure_child_run_link("child", store=store, stream=Stream(sink))
    await ensure_child_run_link("child", store=store)
    assert sink.events == []


async def test_an_active_session_needs_a_stream(store: MemoryStore) -> None:
    with pytest.raises(InvalidCommand) as refused:
        await ensure_child_run_link("child", store=store)
    assert refused.value.code == "stream_required"


@pytest.mark.parametrize("edit", [without("child_run_linked"), changed("child_run_linked", payload=b"")])
async def test_corruption_is_reported_before_a_missing_stream(meddled: Meddled, edit: Any) -> None:
    meddled.edits["run"] = edit
    with pytest.raises(CorruptRun):
        await ensure_child_run_link("child", store=meddled)


async def test_only_a_child_of_a_session_has_a_link(store: MemoryStore) -> None:
    await one_shot(store, "single")
    await one_shot_child(store, "single-child", "single")
    for run in ("run", "single", "single-child"):
        with pytest.raises(InvalidCommand) as refused:
            await ensure_child_run_link(run, store=store, stream=Stream(Sink()))
        assert refused.value.code == "not_a_session_child"
    with pytest.raises(RunNotFound):
        await ensure_child_run_link("unknown", store=store)


async def test_temporary_failures_are_tried_again(meddled: Meddled) -> None:
    meddled.failures = {"load_session_status": [Unavailable("down")]}
    sink, pauses = Sink(Unavailable("down")), Pauses()
    await ensure_child_run_link("child", store=meddled, stream=Stream(sink), patience=pauses.patience)
    assert (len(sink.events), pauses.slept) == (1, [0.1, 0.1])
