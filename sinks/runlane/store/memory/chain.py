"""One partition of memory: taken over, fed, answered. Everything here waits for the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from runlane.contract.codec import Codec, outcome_headers
from runlane.contract.errors import ErrorInfo
from runlane.contract.memory import DeleteMemory
from runlane.contract.outcomes import Outcome
from runlane.contract.times import micros
from runlane.kafka import Message
from runlane.store import drafts
from runlane.store.block import Block, BlockHeader, Draft, head_of, message_digest, seal_rows
from runlane.store.drafts import Ownership
from runlane.store.flight import ChainWriter, Verdict
from runlane.store.memory.deciding import Reply, Request, decide, read
from runlane.store.memory.ports import MemoryPorts, Run
from runlane.store.memory.rows import MemoryRows
from runlane.store.settle import settle
from runlane.store.stops import LogFacts, LogShape, Stop, StopKind, check_before_claim, check_log

MEMORY_LOGIC_VERSION: Final = 1
"""Raised with each change that stores a message differently."""
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SinkBounds:
    """Bounds of blocks and of waiting, in seconds; see ``flight.WriteBounds``."""

    block_messages: int = 500
    block_bytes: int = 8 * _MIB
    not_after: float = 60.0
    max_execution: float = 30.0
    proof_age: float = 20.0
    retry_first: float = 0.05
    retry_last: float = 2.0
    recheck: float = 5.0
    refusals: int = 3

    def backoff(self, failures: int) -> float:
        """Return how long to wait after so many failures before: doubled each time, up to the bound."""
        return min(self.retry_first * float(2 ** min(failures, 16)), self.retry_last)


class ChainLost(Exception):
    """The chain is another's, or its last block never came: take it over anew."""


class ChainStopped(Exception):
    """The chain must not be written."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.message)
        self.stop = stop


class MemoryChain:
    """An ownership of one partition, from ``take_over`` on.

    Every method raises ``ChainLost`` or ``ChainStopped`` when it ends, and ``Unavailable`` when the log or
    the database does not answer: then it has to be taken over anew.
    """

    def __init__(
        self,
        ports: MemoryPorts,
        partition: int,
        *,
        bounds: SinkBounds,
        codec: Codec,
        stopped: Callable[[], bool],
    ) -> None:
        self._ports = ports
        self._partition = partition
        self._bounds = bounds
        self._codec = codec
        self._stopped = stopped
        self._own: Ownership
        self._writer: ChainWriter[Block]
        self._reply_partitions = 0

    @property
    def next_offset(self) -> int:
        """The offset to read from."""
        head = self._head
        return head.last + 1 - head.base

    def take_over(self, adopts: frozenset[StopKind]) -> None:
        """Claim the chain, and check that its log is still the one it was written from.

        What of ``adopts`` contradicts that is journaled and accepted.
        """
        ports = self._ports
        shape = ports.log.shape()
        begun = ports.clock.monotonic()
        end = ports.store.end(self._partition)
        head = end.header
        recorded = head.partition_count if head is not None else ports.store.recorded_partition_count()
        self._check_shape(head, shape, recorded)
        self._own = Ownership(
            partition=self._partition,
            generation=end.generation,
            epoch=1 if head is None else head.epoch + 1,
            nonce=ports.ids.nonce(),
            logic_version=MEMORY_LOGIC_VERSION,
            partition_count=shape.partitions,
        )
        self._writer = ChainWriter(self._bounds, head, proof=end.time, proven_at=begun)
        self._reply_partitions = shape.reply_partitions
        self._write(drafts.claim(self._own, head, shape.log, ports.clock.now()))
        self._check_log(adopts)

    def feed(self, messages: Sequence[Message]) -> Sequence[Run]:
        """Store a batch and answer it once it is committed; what is behind the tip already is left out.

        Return the runs whose memory was deleted.
        """
        expected = self.next_offset
        fresh = [message for message in messages if message.offset >= expected]
        if fresh and fresh[0].offset > expected and self._facts().low > expected:
            # What was deleted unread is no hole that a log may have.
            raise ChainLost
        return [run for batch in _batches(fresh, self._bounds) for run in self._store(batch)]

    def _store(self, messages: Sequence[Message]) -> Sequence[Run]:
        head, ports = self._head, self._ports
        partitions = self._own.partition_count
        requests = [
            read(message, head.base + message.offset, partition=self._partition, partitions=partitions)
            for message in messages
        ]
        known = ports.store.known([request.named for request in requests if request.named is not None])
        draft = self._commit_draft(messages[-1], requests[-1])
        rows = MemoryRows(head_of(draft, head), micros(draft.time))
        replies = decide(requests, known, rows)
        self._settle(seal_rows(draft, head, rows, commands=len(requests)))
        for reply in replies:
            self._answer(reply)
        ports.log.commit(self._partition, self.next_offset)
        commands = [request.command for request in requests]
        return [(gone.agent_id, gone.run_id) for gone in commands if isinstance(gone, DeleteMemory)]

    def _commit_draft(self, message: Message, request: Request) -> Draft:
        head = self._head
        return drafts.commit(
            self._own,
            head,
            last=request.position,
            tip_digest=message_digest(message.key, message.value),
            # Answers are sent at most once: who misses one repeats its message, which is then known.
            watermark=head.last,
            time=max(self._ports.clock.now(), head.time),
        )

    def _write(self, draft: Draft) -> None:
        head = self._writer.head
        rows = MemoryRows(head_of(draft, head), micros(draft.time))
        self._settle(seal_rows(draft, head, rows, commands=0))

    def _settle(self, block: Block) -> None:
        ports, number = self._ports, block.header.number
        match settle(self._writer, block, ports.store, ports.clock, stopped=self._stopped):
            case Verdict.MINE:
                return
            case Verdict.MISSING:
                message = f"block {number} or the one before was acknowledged and is not there"
                raise self._stop(StopKind.BLOCK_MISSING, message)
            case Verdict.REFUSED:
                raise self._stop(StopKind.BLOCK_REFUSED, f"the database refuses block {number}")
            case _:
                raise ChainLost

    def _answer(self, reply: Reply) -> None:
        headers, partition = reply.headers, reply.headers.reply_partition
        if not headers.correlation_id or partition is None or partition >= self._reply_partitions:
            return
        outcome = Outcome(
            correlation_id=headers.correlation_id,
            partition=self._partition,
            position=reply.position,
            block=self._head.number,
            result=None if isinstance(reply.answer, ErrorInfo) else reply.answer,
            error=reply.answer if isinstance(reply.answer, ErrorInfo) else None,
        )
        value = self._codec.encode_outcome(outcome)
        self._ports.log.answer(partition, value, outcome_headers(headers.correlation_id))

    def _check_shape(self, head: BlockHeader | None, shape: LogShape, recorded: int | None) -> None:
        stop = check_before_claim(
            self._partition, head, partitions=shape.partitions, logic_version=MEMORY_LOGIC_VERSION
        )
        if stop is not None:
            raise ChainStopped(stop)
        if recorded is not None and recorded != shape.partitions:
            # A run's events are ordered by their positions in one partition.
            message = f"the topic has {shape.partitions} partitions, the chains were started with {recorded}"
            raise self._stop(StopKind.PARTITIONS_MISSING, message)

    def _check_log(self, adopts: frozenset[StopKind]) -> None:
        head, facts = self._head, self._facts()
        stop = check_log(head, facts)
        if stop is None:
            return
        adoption = drafts.adoption_of(stop.kind, head, facts)
        if adoption is None or stop.kind not in adopts:
            raise ChainStopped(stop)
        self._write(drafts.adopt(self._own, head, adoption, self._ports.clock.now()))

    def _facts(self) -> LogFacts:
        head = self._head
        return self._ports.log.facts(self._partition, head.last - head.base)

    def _stop(self, kind: StopKind, message: str) -> ChainStopped:
        return ChainStopped(Stop(kind, self._partition, message))

    @property
    def _head(self) -> BlockHeader:
        head = self._writer.head
        assert head is not None, "a claimed chain has a head"
        return head


def _batches(messages: Sequence[Message], bounds: SinkBounds) -> Sequence[Sequence[Message]]:
    """Cut messages into blocks of bounded size, each of one message at least."""
    found: list[list[Message]] = []
    size = 0
    for message in messages:
        own = len(message.value or b"")
        full = not found or len(found[-1]) == bounds.block_messages
        if full or size + own > bounds.block_bytes:
            found.append([])
            size = 0
        found[-1].append(message)
        size += own
    return found
