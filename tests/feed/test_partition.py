"""One partition: whatever the topic repeats, loses or reorders, readers get the same events and windows."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from runlane.contract.activity import ActivityShare
from runlane.contract.stream import StreamEvent
from runlane.contract.values import CommittedRecord, SessionStatus
from runlane.feed import FeedCounts, PartitionFeed, Place, Received
from runlane.feed import order as order_module
from tests.feed.kept import Caught, Kept, by_identity
from tests.feed.table import events
from tests.feed.telling import BEGIN, Telling

SINCE = BEGIN - timedelta(days=1)
BLOCKS = [records for _, _, records in Telling(partitions=1, lanes=6).blocks(600, 20)]
RECORDS = [one for block in BLOCKS for one in block]
Windows = dict[tuple[str, datetime, int], ActivityShare]


def a_feed(history: Kept, out: Caught, *, offset: int = 0, block: int = -1) -> PartitionFeed:
    return PartitionFeed(Place(0, offset, block, SINCE), history, out, FeedCounts())


def numbered(records: list[CommittedRecord], start: int = 0) -> list[Received]:
    return [Received(start + n, one) for n, one in enumerate(records)]


def straight() -> tuple[dict[tuple[str, str, str], StreamEvent], Windows]:
    """What an undisturbed feed tells."""
    out = Caught()
    feed = a_feed(Kept(BLOCKS), out)
    feed.take(numbered(RECORDS))
    feed.tell()
    return by_identity(out.events), out.latest()


EVENTS, WINDOWS = straight()


def test_an_undisturbed_topic_is_mapped_record_by_record() -> None:
    active = [one for one in RECORDS if one.session_status is SessionStatus.ACTIVE]
    wanted = [
        identity for one in active for identity in events(one.run_id, one.event_key, one.type, one.payload)
    ]
    assert list(EVENTS) == wanted
    assert len(wanted) > 300


def test_windows_count_what_happened_in_their_minute() -> None:
    assert sum(share.revision for share in WINDOWS.values()) == len(RECORDS)
    for name, record_type in (("starts", "run_started"), ("tool_calls", "tool_result_received")):
        counted = sum(getattr(share, name) for share in WINDOWS.values())
        assert counted == sum(one.type == record_type for one in RECORDS)
    assert len({share.window_start for share in WINDOWS.values()}) > 3


@pytest.mark.parametrize("seed", range(20))
def test_repetitions_holes_and_skipped_offsets_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    history, out = Kept(BLOCKS), Caught()
    topic: list[Received] = []
    for n, record in enumerate(RECORDS):
        if chance.random() < 0.02 and n < len(RECORDS) - 100:
            continue  # a delivery that failed: sent again later, or never
        topic.append(Received(len(topic), record))
        if chance.random() < 0.02:
            again = RECORDS[max(0, n - chance.randrange(60)) : n + 1]
            topic += numbered(again, len(topic))
    feed = a_feed(history, out)
    at = 0
    while at < len(topic):
        size = chance.randrange(1, 40)
        some = topic[at : at + size]
        if chance.random() < 0.1 and at + size < len(topic):
            some = []  # trimmed, or skipped by the consumer
        feed.take(some)
        feed.tell()
        at += size
    assert by_identity(out.events) == EVENTS
    assert out.latest() == WINDOWS


@pytest.mark.parametrize("seed", range(20))
def test_crashes_and_takeovers_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    out, committed = Caught(), 0
    topic = numbered(RECORDS)
    while committed < len(topic):
        feed = a_feed(Kept(BLOCKS), out, offset=committed)
        for _ in range(chance.randrange(1, 6)):
            some = topic[feed.next_offset : feed.next_offset + chance.randrange(1, 40)]
            feed.take(some)
            if chance.random() < 0.6:
                feed.tell()
                committed = feed.next_offset
    assert by_identity(out.events) == EVENTS
    assert out.latest() == WINDOWS


@pytest.mark.parametrize("known", [True, False])
def test_what_was_trimmed_before_the_first_message_comes_from_the_journal(known: bool) -> None:
    history, out = Kept(BLOCKS), Caught()
    first = 250
    feed = a_feed(history, out, offset=100, block=RECORDS[100].block if known else -1)
    feed.take(numbered(RECORDS[first:], first))
    feed.tell()

    told = by_identity(out.events)
    missing = set(EVENTS) - set(told)
    before = {one.identity for one in EVENTS.values()} - {
        identity
        for one in RECORDS[100:]
        for identity in events(one.run_id, one.event_key, one.type, one.payload)
    }
    assert missing <= before
    assert history.reads[0][0] == 0 or known
    assert {key: share for key, share in WINDOWS.items() if key[1] > RECORDS[100].committed_at} == {
        key: share for key, share in out.latest().items() if key[1] > RECORDS[100].committed_at
    }


def test_an_undisturbed_topic_costs_one_look_into_the_journal() -> None:
    history = Kept(BLOCKS)
    feed = a_feed(history, Caught())
    feed.take(numbered(RECORDS))
    assert history.reads == [(0, 0)]


def test_a_purged_session_is_told_no_more() -> None:
    history, out = Kept(BLOCKS), Caught()
    gone = next(one.lane for one in RECORDS if one.session_status is SessionStatus.ACTIVE)
    history.tombstones.add(gone)
    feed = a_feed(history, out)
    feed.take(numbered(RECORDS))
    feed.tell()
    lanes = {one.run_id: one.lane for one in RECORDS}
    assert {identity for identity in EVENTS if lanes[identity[0]] != gone} == set(by_identity(out.events))


def test_a_record_that_cannot_be_mapped_is_counted_and_left_out() -> None:
    broken = replace(
        RECORDS[0], type="tool_result_received", payload=b"{}", session_status=SessionStatus.ACTIVE
    )
    out = Caught()
    feed = a_feed(Kept([[broken]]), out)
    feed.take([Received(0, broken), Received(1, None)])
    assert (out.events, feed.counts.unmapped, feed.next_offset) == ([], 1, 2)


def test_lanes_are_forgotten_once_their_blocks_are_known_to_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_module, "MAX_LANES", 3)
    history, out = Kept(BLOCKS), Caught()
    history.sent = 15
    feed = a_feed(history, out)
    feed.take(numbered(RECORDS[:400]))
    feed.take(numbered(RECORDS[100:], 400))
    feed.tell()
    assert by_identity(out.events) == EVENTS
    assert out.latest() == WINDOWS


def test_runs_that_go_on_in_silence_are_told_with_every_minute() -> None:
    out = Caught()
    feed = a_feed(Kept(BLOCKS), out, offset=len(RECORDS))
    feed.rest(RECORDS[-1].committed_at + timedelta(minutes=5))
    running = {key[0]: share.running for key, share in sorted(WINDOWS.items(), key=lambda one: one[0][1])}
    told = {share.agent_id: share for share in out.shares}
    assert {agent: share.running for agent, share in told.items()} == {a: n for a, n in running.items() if n}
    assert {share.revision for share in told.values()} == {0}
    assert len({share.window_start for share in told.values()}) == 1
