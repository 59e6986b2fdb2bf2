"""A tiny owner on a thread: decides commands as they come, keeps nothing but memory, answers over Kafka."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from runlane.contract.codec import decode_command, encode_outcome, outcome_headers, parse_command_headers
from runlane.contract.commands import Command, StartChildRun, StartOneShotChildRun, StartRootRun
from runlane.contract.decide import LaneState, Meta, decide
from runlane.contract.outcomes import ClaimResult, Outcome
from runlane.contract.partitioner import partition_for
from runlane.contract.signing import Key, Keyring
from runlane.contract.topics import Topics
from runlane.kafka import Consumer, KafkaConfig, Message, Partition, Producer

OWNER_KEY = Key("owner", b"an owner's secret of tests")
HOST_KEY = Key("host", b"a host's secret of tests..")


class EchoOwner:
    """Owns every partition of the commands topic; `forgetful`, it never answers what it sees first."""

    def __init__(
        self,
        config: KafkaConfig,
        *,
        partitions: int,
        prefix: str = "runlane.",
        forgetful: bool = False,
    ) -> None:
        self.lanes: dict[str, LaneState] = {}
        self.commands: list[Message] = []
        self._partitions = partitions
        self._forgetful = forgetful
        self._seen: set[str] = set()
        self._receipts = Keyring([OWNER_KEY])
        self._hosts = Keyring([HOST_KEY])
        self._topics = Topics(prefix)
        self._producer = Producer(config, background=True)
        self._consumer = Consumer(config)
        names = [Partition(self._topics.commands.name, number) for number in range(partitions)]
        self._consumer.assign(dict.fromkeys(names, 0))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="echo-owner", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._consumer.close()
        self._producer.close(1.0)

    def _serve(self) -> None:
        while not self._stop.is_set():
            for message in self._consumer.poll(500, 0.05).messages:
                self._answer(message)

    def _answer(self, message: Message) -> None:
        assert message.key is not None
        assert message.partition == partition_for(message.key, self._partitions)
        self.commands.append(message)
        number = len(self.commands)
        headers = parse_command_headers(message.headers)
        outcome = self._decide(number, message, decode_command(message.value), headers.signature)
        forgotten = self._forgetful and headers.correlation_id not in self._seen
        self._seen.add(headers.correlation_id)
        if headers.reply_partition is None or forgotten:
            return
        self._producer.produce(
            self._topics.outcomes.name,
            encode_outcome(outcome._replace(correlation_id=headers.correlation_id)),
            headers=outcome_headers(headers.correlation_id),
            partition=headers.reply_partition,
        )

    def _decide(self, number: int, message: Message, command: Command, signature: str | None) -> Outcome:
        key, body = message.key or b"", message.value or b""
        receipt = None
        if isinstance(command, StartRootRun | StartChildRun | StartOneShotChildRun):
            receipt = command.receipt
        meta = Meta(
            datetime.now(UTC),
            message.partition,
            number,
            self._hosts.verify_host(key, body, signature),
            self._receipts.verify_receipt(receipt),
        )
        lane = self.lanes.setdefault(key.decode(), LaneState(key.decode()))
        decision = decide(lane, command, meta)
        lane.apply(decision.changes)
        result = decision.result
        if isinstance(result, ClaimResult):
            result = replace(result, receipt=self._receipts.sign_receipt(result.receipt))
        return Outcome("", message.partition, message.offset, number, result, decision.error)
