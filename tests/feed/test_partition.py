"""One partition: whatever the topic repeats, loses or reorders, readers get the same events and windows."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from runlane.contract.activity import ActivityShare
from runlane.contract.errors import ContractError
from runlane.contract.stream import StreamEvent
from runlane.contract.values import CommittedRecord, SessionStatus
from runlane.feed import FeedCounts, PartitionFeed, Place, Received
from runlane.feed import order as order_module
from runlane.feed import partition as partition_module
from tests.feed.kept import Caught, Kept, by_identity, owner_sends
from tests.feed.table import events
from tests.feed.telling import BEGIN, Telling

SINCE = BEGIN - timedelta(days=1)
BLOCKS = [records for _, _, records in Telling(partitions=1, lanes=25).blocks(600, 20)]
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


def test_an_event_too_large_for_the_topic_is_left_out_and_counted_and_the_rest_goes_on() -> None:
    """Escaping makes six bytes of one, so a record within its bounds may become an event beyond them."""

    class Narrow(Caught):
        def event(self, event: StreamEvent) -> None:
            if event.run_id == RECORDS[0].run_id:
                raise ContractError("a message is too large", code="message_too_large")
            super().event(event)

    counts, out = FeedCounts(), Narrow()
    feed = PartitionFeed(Place(0, 0, -1, SINCE), Kept(BLOCKS), out, counts)
    feed.take(numbered(RECORDS))
    assert by_identity(out.events) == {key: one for key, one in EVENTS.items() if key[0] != RECORDS[0].run_id}
    assert counts.unmapped == len(EVENTS) - len(out.events) > 0
    assert feed.next_offset == len(RECORDS)


def test_windows_count_what_happened_in_their_minute() -> None:
    assert sum(share.revision for share in WINDOWS.values()) == len(RECORDS)
    for name, record_type in (("starts", "run_started"), ("tool_calls", "tool_result_received")):
        counted = sum(getattr(share, name) for share in WINDOWS.values())
        assert counted == sum(one.type == record_type for one in RECORDS)
    assert len({share.window_start for share in WINDOWS.values()}) > 3


@pytest.mark.parametrize("seed", range(30))
def test_whatever_owners_and_feeds_suffer_readers_are_told_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_module, "_NEAR_BLOCKS", 4)
    chance = random.Random(seed)
    records, sent = owner_sends(BLOCKS, chance)
    topic, committed, out = numbered(records), 0, Caught()
    while committed < len(topic):
        history = Kept(BLOCKS)
        history.sent = sent
        skipped = chance.randrange(30) if chance.random() < 0.2 and committed < len(topic) - 30 else 0
        block = records[committed].block if chance.random() < 0.5 else -1
        feed, at = a_feed(history, out, offset=committed, block=block), committed + skipped
        for _ in range(chance.randrange(1, 8)):
            some = topic[at : at + chance.randrange(1, 60)]
            feed.take(some)
            at += len(some)
            if chance.random() < 0.6:
                feed.tell()
                committed = feed.next_offset
            if chance.random() < 0.1 and at < len(topic) - 60:
                at += chance.randrange(50)  # trimmed, or skipped by the consumer
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
    broken = RECORDS[0]._replace(
        type="tool_result_received", payload=b"{}", session_status=SessionStatus.ACTIVE
    )
    out = Caught()
    feed = a_feed(Kept([[broken]]), out)
    feed.take([Received(0, broken), Received(1, None)])
    assert (out.events, feed.counts.unmapped, feed.next_offset) == ([], 1, 2)


def test_lanes_are_forgotten_once_their_blocks_are_known_to_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_module, "MAX_LANES", 3)
    history, out = Kept(BLOCKS), Caught()
    feed = a_feed(history, out)
    feed.take(numbered(RECORDS[:400]))
    feed.take(numbered(RECORDS[100:], 400))
    feed.tell()
    assert by_identity(out.events) == EVENTS
    assert out.latest() == WINDOWS


def test_runs_that_go_on_in_silence_are_told_with_every_minute() -> None:
    out = Caught()
    feed = a_feed(Kept(BLOCKS), out, offset=len(RECORDS))
    feed.rest(RECORDS[-1].committed_at + timedelta(minutes=5), len(BLOCKS) - 1)
    running = {key[0]: share.running for key, share in sorted(WINDOWS.items(), key=lambda one: one[0][1])}
    told = {share.agent_id: share for share in out.shares}
    assert {agent: share.running for agent, share in told.items()} == {a: n for a, n in running.items() if n}
    assert {share.revision for share in told.values()} == {0}
    assert len({share.window_start for share in told.values()}) == 1


def test_a_hole_that_nobody_saw_before_a_takeover_is_filled_after_it() -> None:
    lost = BLOCKS[1][7]
    sent = [*BLOCKS[0], *(one for one in BLOCKS[1] if one.lane != lost.lane), *BLOCKS[2], *BLOCKS[3]]
    topic = numbered([one for one in sent if one.lane != lost.lane or one.block == 0] + BLOCKS[1] + BLOCKS[2])
    history, out = Kept(BLOCKS[:4]), Caught()
    history.sent = [-1, 0, 0, 0]
    before = a_feed(history, out)
    before.take(topic[:65])
    before.tell()
    after = a_feed(history, out, offset=65)
    after.take(topic[65:])
    after.tell()

    wanted = [one for one in RECORDS[:80] if one.session_status is SessionStatus.ACTIVE]
    assert set(by_identity(out.events)) == {
        identity for one in wanted for identity in events(one.run_id, one.event_key, one.type, one.payload)
    }
    assert sum(share.revision for share in out.latest().values()) == 80


def test_a_block_that_is_committed_and_not_yet_sent_is_not_missed_by_a_feed_at_rest() -> None:
    history, out = Kept(BLOCKS[:10]), Caught()
    sent = [one for block in BLOCKS[:9] for one in block]
    feed = a_feed(history, out, offset=len(sent))
    feed.rest(RECORDS[-1].committed_at, 9)
    feed.take(numbered(list(BLOCKS[9]), len(sent)))
    active = [one for one in BLOCKS[9] if one.session_status is SessionStatus.ACTIVE]
    assert set(by_identity(out.events)) == {
        identity for one in active for identity in events(one.run_id, one.event_key, one.type, one.payload)
    }
