"""A journal written block by block, its records on a topic, and feeds as processes that can be killed."""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from runlane.contract.activity import ActivityShare, decode_share, window_start
from runlane.contract.codec import encode_record, record_headers
from runlane.contract.partitioner import partition_for
from runlane.contract.state import Changes
from runlane.contract.times import EPOCH, micros
from runlane.contract.topics import Topics
from runlane.contract.values import CommittedRecord
from runlane.feed import FeedConfig, JournalHistory
from runlane.kafka import Admin, Consumer, GroupSettings, KafkaConfig, Message, Partition, Producer
from runlane.service.feed_thread import FeedThread
from runlane.store.block import BlockKind, Draft, seal
from runlane.store.engine import ClientPool
from runlane.store.rows import Answer
from runlane.store.values import instant
from tests.feed.table import Identity, Payload, events
from tests.feed.telling import Telling
from tests.service.commands import PATIENCE, Process
from tests.store.world import LOG, World

PARTITIONS = 4
_RECORDS = """
SELECT run_id, session_id, agent_id, event_key, type, at, time, status, body, partition
FROM journal WHERE kind = 'record'
"""


class Scene:
    """Records in a journal, and on a topic that repeats some, lost some, and holds what is no record.

    ``topics`` are those of a broker that has them already.
    """

    def __init__(self, bootstrap: str, dsn: str, pool: ClientPool, *, topics: Topics | None = None) -> None:
        self.kafka = KafkaConfig(bootstrap)
        self.topics = topics or Topics(f"t{uuid.uuid4().hex[:12]}.", PARTITIONS)
        self.group = f"{self.topics.prefix}feeds"
        self._pool = pool
        self._dsn = dsn
        self._world = World(pool)
        wanted = (self.topics.records, self.topics.stream, self.topics.activity)
        if topics is None:
            Admin(self.kafka).create_topics(wanted, replication_factor=1)

    def tell(self, total: int, *, lanes: int, block: int) -> None:
        """Write the journal, and what owners whose deliveries fail now and then would have sent."""
        self._telling = Telling(partitions=PARTITIONS, lanes=lanes)
        self.tell_more(total, block=block)

    def tell_more(self, total: int, *, block: int) -> None:
        """Go on."""
        chance = random.Random(5)
        unsent: dict[int, list[Sequence[CommittedRecord]]] = defaultdict(list)
        with Producer(self.kafka, max_queued_bytes=256 * 1024 * 1024) as producer:
            for partition, number, records in self._telling.blocks(total, block):
                waiting = unsent[partition]
                # A block says only of what has arrived that it was sent.
                assert producer.drain(PATIENCE)
                self._commit(partition, number, records, whole=number - len(waiting) - 1)
                failed = chance.random() < 0.2
                if failed or waiting:
                    waiting.append(records)
                self._produce(
                    producer, partition, [one for one in records if not failed or chance.random() > 0.01]
                )
                if len(waiting) == 3:
                    # The next owner sends everything again that is not known to be there.
                    self._produce(producer, partition, [one for block in waiting for one in block])
                    waiting.clear()
                producer.produce(self.topics.records.name, b"no record", key=b"x", partition=partition)
                producer.poll()
            for partition, waiting in unsent.items():
                self._produce(producer, partition, [one for block in waiting for one in block])
            assert producer.drain(PATIENCE)

    def _produce(self, producer: Producer, partition: int, records: Sequence[CommittedRecord]) -> None:
        for record in records:
            producer.produce(
                self.topics.records.name,
                encode_record(record),
                key=record.lane.encode(),
                headers=record_headers(record.lane_seq),
                partition=partition,
            )

    def thread(self) -> FeedThread:
        """A feed in this process, to be entered."""
        return FeedThread(FeedConfig(self.kafka, self.topics, self.group), JournalHistory(self._pool))

    def feed(self, metrics: int) -> Process:
        """A feed to be entered."""
        return Process(
            "feed",
            KAFKA=self.kafka.bootstrap,
            CLICKHOUSE=self._dsn,
            TOPIC_PREFIX=self.topics.prefix,
            FEED_GROUP=self.group,
            METRICS_LISTEN=f"127.0.0.1:{metrics}",
            LOG_LEVEL="info",
        )

    def streamed(self) -> int:
        """How many events the stream holds."""
        return sum(self._ends(self.topics.stream.name).values())

    def behind(self) -> int:
        """How many records the group has not let pass."""
        ends = self._ends(self.topics.records.name)
        with Consumer(self.kafka, group=GroupSettings(self.group)) as consumer:
            passed = consumer.committed(list(ends), PATIENCE)
        return sum(end - (passed[place] or 0) for place, end in ends.items())

    def read(self, topic: str) -> Iterator[Message]:
        """Everything that a topic holds."""
        ends = self._ends(topic)
        left = sum(ends.values())
        with Consumer(self.kafka) as consumer:
            consumer.assign(dict.fromkeys(ends, 0))
            while left:
                found = consumer.poll(5_000, 1.0).messages
                left -= len(found)
                yield from found

    def stream(self) -> dict[Identity, tuple[str, str, Payload]]:
        """The stream as its readers see it; what comes again must be the same byte for byte."""
        bodies: dict[Identity, bytes] = {}
        found: dict[Identity, tuple[str, str, Payload]] = {}
        for message in self.read(self.topics.stream.name):
            value: dict[str, Any] = json.loads(message.value or b"")
            identity = value["run_id"], value["type"], value["event_key"]
            assert bodies.setdefault(identity, message.value or b"") == message.value
            assert message.key == f"s/{value['session_id']}".encode()
            assert message.partition == partition_for(message.key, PARTITIONS)
            server = {"server_data": value["server_data"]} if "server_data" in value else {}
            found[identity] = (value["session_id"], value["occurred_at"], value["payload"] | server)
        return found

    def mapped(self) -> dict[Identity, tuple[str, str, Payload]]:
        """What the contract's table makes of the journal."""
        found: dict[Identity, tuple[str, str, Payload]] = {}
        for run_id, session_id, _, key, kind, at, _, status, body, _ in self._rows():
            if status == "active":
                told = instant(at).isoformat(timespec="milliseconds").replace("+00:00", "Z")
                for identity, payload in events(run_id, key, kind, body).items():
                    found[identity] = (session_id, told, payload)
        return found

    def shares(self) -> dict[tuple[str, Any, int], ActivityShare]:
        """The shares as their readers see them: of each the greatest revision."""
        found: dict[tuple[str, Any, int], ActivityShare] = {}
        for message in self.read(self.topics.activity.name):
            share = decode_share(message.value)
            assert message.key == share.agent_id.encode()
            known = found.get(share.identity)
            if known is None or share.revision >= known.revision:
                found[share.identity] = share
        return found

    def running(self) -> dict[tuple[str, int], int]:
        """How many runs of each agent are running, by partition, as the shares say."""
        found: dict[tuple[str, int], int] = {}
        for share in sorted(self.shares().values(), key=lambda one: one.window_start):
            found[share.agent_id, share.partition] = share.running
        return {key: running for key, running in found.items() if running}

    def unended(self) -> dict[tuple[str, int], int]:
        """How many runs of each agent have not ended, by partition, as the journal says."""
        runs: Counter[tuple[str, int]] = Counter()
        for _, _, agent, _, kind, _, _, _, _, partition in self._rows():
            runs[agent, partition] += (kind == "run_started") - (kind in ("run_completed", "run_suspended"))
        return dict(+runs)

    def counted(self) -> dict[tuple[str, Any, int], dict[str, int]]:
        """What the journal says that each agent did, by minute and partition."""
        counts: dict[tuple[str, Any, int], Counter[str]] = defaultdict(Counter)
        for _, _, agent, _, kind, _, time, _, body, partition in self._rows():
            counter = counts[agent, window_start(instant(time)), partition]
            counter["revision"] += 1
            counter["starts"] += kind == "run_started"
            counter["suspensions"] += kind == "run_suspended"
            if kind == "run_completed":
                counter[f"ended {json.loads(body)['status']}"] += 1
            if kind == "usage":
                counter["tokens"] += json.loads(body)["TotalTokens"]
            if kind == "tool_result_received":
                counter["tool_calls"] += 1
                counter["tool_failures"] += "failure" in json.loads(body)
        return {key: dict(+counter) for key, counter in counts.items()}

    def _rows(self) -> Sequence[Sequence[Any]]:
        return self._pool.query(_RECORDS, raw=("body",))

    def _ends(self, topic: str) -> dict[Partition, int]:
        with Consumer(self.kafka) as consumer:
            places = [Partition(topic, number) for number in range(PARTITIONS)]
            return {place: consumer.watermarks(place, PATIENCE)[1] for place in places}

    def _commit(self, partition: int, number: int, records: Sequence[CommittedRecord], *, whole: int) -> None:
        """Write a block whose header says that the blocks up to ``whole`` were sent; one position each."""
        chain = self._world.partitions[partition]
        chain.position += 1
        assert number == chain.position == (0 if chain.head is None else chain.head.number + 1)
        answer = Answer(chain.position, records[0].lane, "c", 0, "append_run_record", "", b"")
        draft = Draft(
            partition=partition,
            generation=chain.generation,
            kind=BlockKind.COMMIT,
            epoch=chain.epoch,
            nonce="nonce",
            logic_version=1,
            log=LOG,
            base=0,
            partition_count=PARTITIONS,
            last=chain.position,
            tip_digest=b"tip",
            watermark=whole,
            time=records[0].committed_at,
            commands=[(answer, Changes(records=tuple(records)))],
        )
        self._world.write(seal(draft, chain.head))


def done(share: ActivityShare) -> dict[str, int]:
    """A share in the words of ``counted``."""
    counted = {
        "revision": share.revision,
        "starts": share.starts,
        "suspensions": share.suspensions,
        "ended success": share.completions,
        "ended failed": share.failures,
        "ended canceled": share.cancellations,
        "tokens": share.tokens,
        "tool_calls": share.tool_calls,
        "tool_failures": share.tool_failures,
    }
    assert micros(share.window_start) > micros(EPOCH)
    return {name: count for name, count in counted.items() if count}
