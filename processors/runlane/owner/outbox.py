"""What committed blocks have to send, and how far it is known to have arrived.

Outcomes and records leave only after their block is committed, in block order; the watermark is the last
position up to which every delivery was reported. A failed delivery ends the ownership, so that the next one
sends again.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from runlane.contract.codec import Codec, Headers, outcome_headers, record_headers
from runlane.contract.errors import RunlaneError
from runlane.contract.values import CommittedRecord
from runlane.kafka import Delivery
from runlane.owner.intake import NOBODY
from runlane.owner.ports import Outgoing, OutTopic
from runlane.store.rows import Answer

_REJECTED_HEADERS: Final[Headers] = [("schema", b"runlane.rejected.v1")]
_ITEM_BYTES: Final = 200

Send = Callable[[Outgoing, Delivery], bool]


class Shipment:
    """The messages of one block, or of one page of a re-send: counted, not remembered.

    ``delivered`` runs in the log's delivery thread, the only one that counts; ``settled`` is told once, when
    all arrived or one failed.
    """

    __slots__ = ("_done", "_settled", "bytes", "failed", "last", "total")

    def __init__(self, last: int, settled: Callable[[], None]) -> None:
        self.last = last
        self.total = 0
        self.bytes = 0
        self.failed = False
        self._done = 0
        self._settled = settled

    @property
    def complete(self) -> bool:
        """Whether every message arrived."""
        return self._done == self.total and not self.failed

    def delivered(self, failure: RunlaneError | None) -> None:
        """Count one delivery report."""
        if failure is not None:
            self.failed = True
            self._settled()
            return
        self._done += 1
        if self._done == self.total:
            self._settled()


class Outbox:
    """The shipments of one partition in order. ``watermark`` is the last position known to be sent."""

    def __init__(self, *, partition: int, codec: Codec, watermark: int) -> None:
        self._partition = partition
        self._codec = codec
        self._queue: deque[tuple[Outgoing, Shipment]] = deque()
        self._shipments: deque[Shipment] = deque()
        self.watermark = watermark
        self.bytes = 0

    @property
    def empty(self) -> bool:
        """Whether nothing is queued or on its way."""
        return not self._shipments

    @property
    def queued(self) -> bool:
        """Whether messages wait for room in the log's queue."""
        return bool(self._queue)

    @property
    def failed(self) -> bool:
        """Whether a delivery failed."""
        return any(shipment.failed for shipment in self._shipments)

    def add(self, items: Iterable[Answer | CommittedRecord], last: int, settled: Callable[[], None]) -> None:
        """Queue what a block, or a page of blocks that ends with position ``last``, has to send.

        Each topic's messages stay in order; the outcomes, which somebody waits for, come first.
        """
        answers: list[Answer] = []
        records: list[CommittedRecord] = []
        for item in items:
            if isinstance(item, Answer):
                answers.append(item)
            else:
                records.append(item)
        messages = [*self._outcomes(answers), *self._records(records)]
        shipment = Shipment(last, settled)
        shipment.total = len(messages)
        shipment.bytes = sum(_ITEM_BYTES + len(message.value) for message in messages)
        self._queue.extend((message, shipment) for message in messages)
        self._shipments.append(shipment)
        self.bytes += shipment.bytes

    def pump(self, send: Send) -> bool:
        """Hand queued messages over until the log's queue is full; return whether all were."""
        queue = self._queue
        while queue:
            message, shipment = queue[0]
            if not send(message, shipment.delivered):
                return False
            queue.popleft()
        return True

    def settle(self) -> bool:
        """Move the watermark over the shipments that arrived, in order; return whether it moved."""
        moved = False
        while self._shipments and self._shipments[0].complete:
            shipment = self._shipments.popleft()
            self.bytes -= shipment.bytes
            moved = moved or shipment.last > self.watermark
            self.watermark = max(self.watermark, shipment.last)
        return moved

    def _outcomes(self, answers: Sequence[Answer]) -> Iterable[Outgoing]:
        for answer in answers:
            told = answer.reply_partition != NOBODY
            if told:
                headers = outcome_headers(answer.correlation_id)
                yield Outgoing(OutTopic.OUTCOMES, answer.reply_partition, None, answer.outcome, headers)
            if not (told and answer.operation):
                yield self._rejection(answer)

    def _records(self, records: Sequence[CommittedRecord]) -> Iterable[Outgoing]:
        encode, partition = self._codec.encode_record, self._partition
        for record in records:
            headers = record_headers(record.lane_seq)
            yield Outgoing(OutTopic.RECORDS, partition, record.lane.encode(), encode(record), headers)

    def _rejection(self, answer: Answer) -> Outgoing:
        """Describe what was refused, by what the journaled answer holds: no payload."""
        error = self._codec.decode_outcome(answer.outcome).error
        details = {} if error is None else dict(error.details)
        body = {
            "partition": self._partition,
            "position": answer.position,
            "code": answer.code,
            "size": int(details.get("size", "0")),
            "sha256": details.get("sha256", ""),
        }
        key = str(self._partition).encode()
        return Outgoing(OutTopic.REJECTED, 0, key, json.dumps(body).encode(), _REJECTED_HEADERS)
