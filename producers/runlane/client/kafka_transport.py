"""Letters over Kafka, through every restart and move of the broker (design, Embedded default; Topics)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Final

from runlane.client.endpoints import KafkaTarget
from runlane.client.kafka_link import LOG, KafkaLink, Road
from runlane.client.options import ClientOptions
from runlane.client.transport import Letter, Listener, Sent
from runlane.contract.codec import Codec, command_headers, memory_headers
from runlane.contract.commands import CreateSession, EndSession, PurgeSession
from runlane.contract.errors import (
    FatalKafkaError,
    KafkaNotPermitted,
    RunlaneError,
    TopicMismatch,
    Unavailable,
)
from runlane.contract.memory import AppendMemory, DeleteMemory, encode_memory_command, validate_memory
from runlane.contract.outcomes import Outcome
from runlane.contract.partitioner import partition_for
from runlane.contract.signing import Keyring

_LOOK_SECONDS: Final = 0.5
_REFUSED_SECONDS: Final = 10.0
"""How long a broker that refuses our user is left alone; what is open ends at its next repetition."""
_CLOSE_SECONDS: Final = 5.0
_MESSAGE_OVERHEAD: Final = 256


class KafkaTransport:
    """Implements ``Transport``; ``target`` is asked time and again, and followed to another log."""

    def __init__(
        self, target: Callable[[], KafkaTarget], *, options: ClientOptions, codec: Codec | None = None
    ) -> None:
        self._target = target
        self._options = options
        self._codec = codec or Codec()
        self._listener: Listener | None = None
        self._link: KafkaLink | None = None
        self._watch: asyncio.Task[None] | None = None

    async def open(self, listener: Listener) -> None:
        """Connect; raises ``Unavailable``, ``KafkaNotPermitted``, or ``TopicMismatch`` for missing topics."""
        self._listener = listener
        while self._link is None:
            target = self._target()
            try:
                self._link = await self._connect(target)
            except Unavailable:
                # A stack that was just starting has meanwhile said where it is.
                if self._target() == target:
                    raise
        self._watch = asyncio.create_task(self._follow(), name="runlane-client-broker")

    async def close(self) -> None:
        """Let what is queued leave, for a few seconds, then let go of the broker."""
        if self._watch is not None:
            self._watch.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watch
        link, self._link = self._link, None
        if link is not None:
            await asyncio.to_thread(link.close, _CLOSE_SECONDS)

    def seal(self, lane: str, command: Sent, correlation_id: str) -> Letter:
        """Return the encoded command; ``InvalidCommand`` when it cannot be encoded or is too large."""
        if isinstance(command, AppendMemory | DeleteMemory):
            validate_memory(command)
            body = encode_memory_command(command)
        else:
            body = self._codec.encode_command(command)
        size = len(body) + len(lane) + _MESSAGE_OVERHEAD
        return Letter(lane, correlation_id, command, self._partition(command, lane.encode()), size, body)

    def send(self, letter: Letter) -> None:
        """Queue the letter; ``Unavailable`` without a broker, ``Overloaded`` when the queue is full.

        ``KafkaNotPermitted`` where our user may not write commands, or not read their outcomes.
        """
        link = self._link
        if self._refusal is not None:
            raise self._refusal
        if link is None or link.failed is not None:
            raise Unavailable("there is no connection to the broker")
        key = letter.lane.encode()
        signature = None
        if isinstance(letter.command, CreateSession | EndSession | PurgeSession):
            host_key = link.target.host_key
            signature = None if host_key is None else Keyring([host_key]).sign_host(key, letter.body)
        road = _road(letter.command)
        if road is Road.MEMORY:
            headers = memory_headers(letter.correlation_id, link.reply_partition)
        else:
            headers = command_headers(letter.correlation_id, link.reply_partition, signature)
        loop = asyncio.get_running_loop()
        report = partial(_report, loop, self._delivered, link, letter.correlation_id)
        try:
            link.produce(road, key, letter.body, headers, report)
        except (FatalKafkaError, TopicMismatch) as error:
            # The watch connects anew; whoever waits for this letter goes on waiting.
            raise Unavailable(error.message, code=error.code) from None

    def send_delta(self, lane: str, body: bytes) -> None:
        """Queue an encoded delta, or drop it."""
        link = self._link
        if link is not None and link.failed is None:
            link.produce_delta(lane.encode(), body)

    @property
    def _refusal(self) -> KafkaNotPermitted | None:
        failed = None if self._link is None else self._link.failed
        return failed if isinstance(failed, KafkaNotPermitted) else None

    def _partition(self, command: Sent, key: bytes) -> int:
        return 0 if self._link is None else partition_for(key, self._link.partitions(_road(command)))

    async def _connect(self, target: KafkaTarget) -> KafkaLink:
        loop = asyncio.get_running_loop()
        listener = self._listener
        assert listener is not None, "opened"

        def on_outcomes(outcomes: list[Outcome]) -> None:
            _tell(loop, _answer, listener, outcomes)

        make = partial(KafkaLink, target, self._codec, wanted=listener.waits_for, on_outcomes=on_outcomes)
        making = asyncio.ensure_future(asyncio.to_thread(make))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            # The thread cannot be stopped: what it still makes has to be closed.
            making.add_done_callback(_close_unwanted)
            raise

    async def _follow(self) -> None:
        """Reconnect whenever the target names another log, or the link can no longer be used."""
        failures = 0
        while True:
            await asyncio.sleep(self._options.retry_pause(failures) if failures else _LOOK_SECONDS)
            if not self._outdated():
                continue
            if self._refusal is not None:
                await asyncio.sleep(_REFUSED_SECONDS)
            try:
                link = await self._connect(self._target())
            except RunlaneError as error:
                failures += 1
                LOG.info("connecting to the broker failed: %s: %s", error.code, error.message)
                continue
            failures = 0
            old, self._link = self._link, link
            if self._listener is not None:
                self._listener.moved()
            if old is not None:
                await asyncio.to_thread(old.close, 0)

    def _outdated(self) -> bool:
        link = self._link
        if link is None or link.failed is not None:
            return True
        try:
            target = self._target()
        except Unavailable:
            return False
        return (target.config.bootstrap, target.log_id) != (
            link.target.config.bootstrap,
            link.target.log_id,
        )

    def _delivered(self, link: KafkaLink, correlation_id: str, error: RunlaneError) -> None:
        # What an earlier link gave up was sent again by `moved`.
        if link is self._link and self._listener is not None:
            self._listener.failed(correlation_id, error)


def _road(command: Sent) -> Road:
    return Road.MEMORY if isinstance(command, AppendMemory | DeleteMemory) else Road.COMMANDS


def _report(
    loop: asyncio.AbstractEventLoop,
    deliver: Callable[[KafkaLink, str, RunlaneError], None],
    link: KafkaLink,
    correlation_id: str,
    error: RunlaneError | None,
) -> None:
    if error is not None:
        _tell(loop, deliver, link, correlation_id, error)


def _answer(listener: Listener, outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        listener.answered(outcome)


def _tell(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *arguments: object) -> None:
    # The loop of a store that nobody closed may be gone.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *arguments)


def _close_unwanted(making: asyncio.Future[KafkaLink]) -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().close(0)
