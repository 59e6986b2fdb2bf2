"""A block's messages leave in the order of its rows, topic by topic, outcomes first (G6)."""

from __future__ import annotations

from datetime import UTC, datetime

from runlane.contract.codec import Codec, decode_record
from runlane.contract.errors import UndecodableMessage
from runlane.contract.outcomes import Outcome
from runlane.contract.values import CommittedRecord, SessionStatus
from runlane.kafka import Delivery
from runlane.owner.intake import NOBODY
from runlane.owner.outbox import Outbox
from runlane.owner.ports import Outgoing, OutTopic
from runlane.store.rows import Answer

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Log:
    """Takes so many messages, then is full."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.sent: list[Outgoing] = []
        self.reports: list[Delivery] = []

    def send(self, message: Outgoing, delivered: Delivery) -> bool:
        if len(self.sent) == self.room:
            return False
        self.sent.append(message)
        self.reports.append(delivered)
        return True


def an_answer(position: int, reply_partition: int = 0) -> Answer:
    outcome = b"%d" % position
    return Answer(position, "r/a", f"ask-{position}", reply_partition, "append_run_record", "", outcome)


def a_record(lane_seq: int) -> CommittedRecord:
    return CommittedRecord(
        *("r/a", lane_seq, lane_seq, "a", "agent", "", "turn", f"key-{lane_seq}", "note", b"{}"),
        *(NOON, NOON, SessionStatus.NONE, 0, 1),
    )


def test_outcomes_leave_before_the_records_of_their_block_each_in_order() -> None:
    log, outbox = Log(100), Outbox(partition=0, codec=Codec(), watermark=-1)
    outbox.add([an_answer(0), a_record(1), an_answer(1), a_record(2), a_record(3)], 1, lambda: None)
    assert outbox.pump(log.send)
    topics = [message.topic for message in log.sent]
    assert topics == [OutTopic.OUTCOMES] * 2 + [OutTopic.RECORDS] * 3
    assert [message.value for message in log.sent[:2]] == [b"0", b"1"]
    assert [decode_record(message.value).lane_seq for message in log.sent[2:]] == [1, 2, 3]


def test_a_later_block_waits_until_the_one_before_has_left() -> None:
    log, outbox = Log(2), Outbox(partition=0, codec=Codec(), watermark=-1)
    outbox.add([an_answer(0), a_record(1), a_record(2)], 0, lambda: None)
    outbox.add([an_answer(1)], 1, lambda: None)
    assert not outbox.pump(log.send)
    assert outbox.queued
    log.room = 100
    assert outbox.pump(log.send)
    assert [message.topic for message in log.sent][-2:] == [OutTopic.RECORDS, OutTopic.OUTCOMES]


def test_the_watermark_follows_once_all_of_a_block_has_arrived() -> None:
    log, outbox = Log(100), Outbox(partition=0, codec=Codec(), watermark=-1)
    settled: list[int] = []
    outbox.add([an_answer(4), a_record(1)], 4, lambda: settled.append(4))
    outbox.pump(log.send)
    log.reports[0](None)
    assert not outbox.settle()
    log.reports[1](None)
    assert settled == [4]
    assert outbox.settle()
    assert (outbox.watermark, outbox.empty, outbox.bytes) == (4, True, 0)


def test_what_nobody_waits_for_is_listed_as_rejected() -> None:
    log, outbox = Log(100), Outbox(partition=0, codec=Codec(), watermark=-1)
    error = UndecodableMessage("bytes are left after the message", code="trailing_bytes").info()
    outcome = Codec().encode_outcome(Outcome("", 0, 7, 1, None, error))
    refused = an_answer(7, NOBODY)._replace(operation="", outcome=outcome)
    outbox.add([refused], 7, lambda: None)
    outbox.pump(log.send)
    (message,) = log.sent
    assert message.topic is OutTopic.REJECTED
    assert b'"position": 7' in message.value
