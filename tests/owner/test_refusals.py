"""Whatever stands in the log gets exactly one typed answer, and the partition goes on (design, Topics.

Wire formats).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from runlane.contract.codec import command_headers, decode_outcome, encode_command, encode_outcome
from runlane.contract.commands import Command, CreateSession
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.limits import MAX_MESSAGE_BYTES
from runlane.contract.outcomes import AppendResult, Outcome
from runlane.contract.partitioner import partition_for
from runlane.owner.ports import OutTopic
from runlane.store.rows import Answer
from tests.owner.simulation import commands
from tests.owner.simulation.broker import REPLY_PARTITIONS
from tests.owner.simulation.clients import HOST_KEYS, one_shot
from tests.owner.simulation.system import System

LANE = run_lane("one")
START = encode_command(commands.start_one_shot("one"))
TOLD = command_headers("ask", 1)
OUTCOME = Outcome("ask", 0, 0, 0, AppendResult(), None)
HOST = encode_command(CreateSession("s", commands.AT))


@dataclass(frozen=True)
class Bad:
    """One message that no lane may see, and what answers it."""

    code: str
    value: bytes | None = START
    key: bytes | None = LANE.encode()
    headers: tuple[tuple[str, bytes], ...] = tuple(TOLD)
    rejected: bool = False
    partition: int | None = None


BAD = {
    "null": Bad("null_message", value=None, rejected=True),
    "garbage": Bad("unknown_frame", value=b"garbage", rejected=True),
    "oversize": Bad("oversize_message", value=b"x" * (MAX_MESSAGE_BYTES + 1), rejected=True),
    "another topic's message": Bad("wrong_schema", value=encode_outcome(OUTCOME), rejected=True),
    "no headers": Bad("bad_reply_partition", headers=(), rejected=True),
    "reply partition too high": Bad(
        "bad_reply_partition", headers=tuple(command_headers("ask", REPLY_PARTITIONS)), rejected=True
    ),
    "reply partition is no number": Bad(
        "bad_reply_partition", headers=(("correlation", b"ask"), ("reply", b"one")), rejected=True
    ),
    "no correlation": Bad("bad_reply_partition", headers=(("reply", b"1"),), rejected=True),
    "another partition's key": Bad("misrouted", partition=1 - partition_for(LANE.encode(), 2)),
    "no lane": Bad("lane_prefix", key=b"nothing"),
    "no text": Bad("lane_not_utf8", key=b"s/\xff"),
    "no key": Bad("lane_prefix", key=None),
    "unsigned host command": Bad("not_permitted", value=HOST, key=session_lane("s").encode()),
}


def answer_of(system: System, partition: int, offset: int) -> Answer:
    """Return the one answer of a position."""
    found = [
        answer
        for block in system.journal.chain(partition)
        for answer, _ in block.draft.commands
        if answer.position == offset
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_bad_message_gets_one_typed_answer_and_the_partition_goes_on(bad: Bad) -> None:
    system = System(3, owners=1, partitions=2)
    system.begin()
    partition = partition_for(bad.key or b"", 2) if bad.partition is None else bad.partition
    offset = system.broker.produce(partition, bad.key, bad.value, list(bad.headers))
    system.add_client("after", one_shot("after"))
    system.add_client("other", one_shot("other"))
    system.run(trouble=0)
    answer = answer_of(system, partition, offset)
    assert answer.code == bad.code
    outcome = decode_outcome(answer.outcome)
    assert outcome.error is not None
    assert outcome.error.code == bad.code
    told = [message for message in system.broker.outcomes() if message.value == answer.outcome]
    assert [message.partition for message in told] == ([1] if answer.reply_partition == 1 else [])
    rejected = [message for message in system.broker.sent if message.topic is OutTopic.REJECTED]
    assert len(rejected) == bad.rejected
    system.check()


def test_a_rejection_describes_the_message_without_its_bytes() -> None:
    system = System(3, owners=1, partitions=1)
    system.begin()
    system.broker.produce(0, LANE.encode(), b"secret payload", [])
    system.run(trouble=0)
    (rejected,) = [message for message in system.broker.sent if message.topic is OutTopic.REJECTED]
    body = json.loads(rejected.value)
    assert body["partition"] == 0
    assert body["position"] == 0
    assert body["size"] == len(b"secret payload")
    assert len(body["sha256"]) == 64
    assert b"secret" not in rejected.value


def test_a_signed_host_command_is_decided() -> None:
    system = System(3, owners=1, partitions=1)
    system.begin()
    key = session_lane("s").encode()
    headers = command_headers("ask", 1, HOST_KEYS.sign_host(key, HOST))
    offset = system.broker.produce(0, key, HOST, headers)
    forged = system.broker.produce(0, key, HOST, command_headers("ask", 1, HOST_KEYS.sign_host(b"s/t", HOST)))
    system.run(trouble=0)
    assert answer_of(system, 0, offset).code == ""
    assert answer_of(system, 0, forged).code == "not_permitted"


def test_a_start_without_a_true_receipt_is_refused() -> None:
    system = System(3, owners=1, partitions=1)
    system.begin()
    key = session_lane("s").encode()
    host = command_headers("ask", 1, HOST_KEYS.sign_host(key, HOST))
    system.broker.produce(0, key, HOST, host)
    command: Command = commands.start_root("run", "s", None)
    offset = system.broker.produce(0, key, encode_command(command), command_headers("ask", 1))
    system.run(trouble=0)
    assert answer_of(system, 0, offset).code == "not_permitted"
