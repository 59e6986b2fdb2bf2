"""Whatever lands on the commands topic is refused by name, found by `runlane rejected`, and passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from runlane.contract.codec import command_headers, encode_command, encode_outcome
from runlane.contract.commands import AppendRunRecord, CreateSession, EndSession, PurgeSession, StartRootRun
from runlane.contract.ids import run_lane, session_lane
from runlane.contract.outcomes import AppendResult, Outcome
from runlane.contract.partitioner import partition_for
from runlane.contract.signing import Key, Keyring
from tests.e2e.checks import check_world
from tests.e2e.operating import Place, Stranger, settings
from tests.e2e.stack import ClickHouse, World, wait_for
from tests.e2e.workload import AT, note, start_of
from tests.harness.kafka import Kafka
from tests.service.commands import runlane_json

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

LANE = session_lane("s").encode()
TOLD = tuple(command_headers("ask", 1))
HOST = encode_command(EndSession("s", AT))
NOTE = note("run", "bad", session_id="s")
APPEND = encode_command(AppendRunRecord(NOTE))
FOREIGN = Keyring([Key("host", b"not the host's key")])
SECRET = b"SECRET-BYTES"


@dataclass(frozen=True)
class Bad:
    """A message of the running lane `s/s`, how it must be refused, and the operation that it is known as."""

    code: str
    operation: str = ""
    value: bytes | None = APPEND
    key: bytes | None = LANE
    headers: tuple[tuple[str, bytes], ...] = TOLD
    partition: int | None = None


def payload(data: bytes) -> bytes:
    return encode_command(AppendRunRecord(replace(NOTE, payload=data)))


def with_branch(number: int) -> bytes:
    """An append whose union branch says another operation: a zigzag number of one byte."""
    return APPEND[:10] + bytes([number << 1]) + APPEND[11:]


BAD: Mapping[str, Bad] = {
    "null": Bad("null_message", value=None),
    "empty": Bad("unknown_frame", value=b""),
    "garbage": Bad("unknown_frame", value=SECRET),
    "cut off": Bad("malformed_message", value=APPEND[:-3]),
    "with more behind it": Bad("trailing_bytes", value=APPEND + SECRET),
    "another topic's schema": Bad(
        "wrong_schema", value=encode_outcome(Outcome("ask", 0, 0, 0, AppendResult(), None))
    ),
    "nobody's schema": Bad("unknown_schema", value=b"\xc3\x01" + b"\x00" * 8 + APPEND[10:]),
    "unknown operation": Bad("unknown_operation", value=with_branch(60)),
    "wrong partition": Bad("misrouted", "append_run_record", partition=1 - partition_for(LANE, 2)),
    "reply partition out of range": Bad(
        "bad_reply_partition", "append_run_record", headers=tuple(command_headers("ask", 99))
    ),
    "reply partition no number": Bad(
        "bad_reply_partition", "append_run_record", headers=(("correlation", b"ask"), ("reply", b"one"))
    ),
    "no headers": Bad("bad_reply_partition", "append_run_record", headers=()),
    "no key": Bad("lane_prefix", "append_run_record", key=None, partition=0),
    "key not a lane": Bad("lane_prefix", "append_run_record", key=b"nothing"),
    "key not text": Bad("lane_not_utf8", "append_run_record", key=b"s/\xff"),
    "unsigned host command": Bad("not_permitted", "end_session", value=HOST),
    "host command with another key": Bad(
        "not_permitted",
        "end_session",
        value=HOST,
        headers=tuple(command_headers("ask", 1, FOREIGN.sign_host(LANE, HOST))),
    ),
    "unsigned purge": Bad("not_permitted", "purge_session", value=encode_command(PurgeSession("s"))),
    "start without a receipt": Bad(
        "not_permitted", "start_root_run", value=encode_command(StartRootRun(*start_of("new", "s")))
    ),
    "duplicate key in a payload": Bad(
        "json.duplicate_key", "append_run_record", value=payload(b'{"a":1,"a":2}')
    ),
    "payload no JSON": Bad("json.syntax", "append_run_record", value=payload(SECRET)),
    "another session's host command": Bad(
        "not_permitted", "create_session", value=encode_command(CreateSession("t", AT))
    ),
    "a run of another lane": Bad("wrong_lane", "append_run_record", key=run_lane("run").encode()),
}


@pytest.mark.guarantee("G4")
async def test_every_bad_message_is_refused_by_name_and_found_by_the_operator(
    kafka_broker: Kafka, clickhouse: ClickHouse, tmp_path: Path
) -> None:
    with World(kafka_broker.bootstrap, clickhouse, tmp_path) as world:
        owner = world.owner()
        owner.wait_until_open([0, 1])
        async with world.client() as store:
            await store.create_session("s", AT)
            run, started, stopped = start_of("run", "s")
            await store.start_root_run(run, started=started, canceled=stopped)
            before = await store.load_run("run")
            stranger = Stranger(world)
            sent: dict[Place, Bad] = {}
            for bad in BAD.values():
                place = stranger.send(bad.key, bad.value, list(bad.headers), partition=bad.partition)
                sent[place] = bad
            after = await store.append_run_record(note("run", "after", session_id="s"))
            assert (after.id, after.inserted) == ("2", True)
            assert await store.load_run("run") == before
        wait_for(lambda: refusals(world) >= len(BAD), "every message is answered")
        given = settings(world)
        listed = runlane_json("rejected", **given)
        only = runlane_json("rejected", "--code", "unknown_operation", **given)
        owner.stop()
        found = {(one["partition"], one["position"]): (one["code"], one["operation"]) for one in listed}
        assert found == {place: (bad.code, bad.operation) for place, bad in sent.items()}
        assert [one["code"] for one in only] == ["unknown_operation"]
        assert SECRET.decode() not in str(listed) + owner.output.read_text()
        assert all(
            SECRET not in (message.value or b"") for message in world.messages(world.topics.rejected.name)
        )
        check_world(world)


def refusals(world: World) -> int:
    """How many answers of the journal are refusals."""
    ((count,),) = world.pool.query("SELECT count() FROM journal WHERE kind = 'answer' AND code != ''")
    return int(count)
