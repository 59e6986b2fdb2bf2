"""A batch: the commands decided for a partition's next block, one answer a position.

Lanes are decided in place in the cache, which thereby runs ahead of the journal; a block that turns out not
to be ours drops all lanes of the partition, so that what was decided for nothing leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from runlane.contract.codec import Codec
from runlane.contract.commands import Command
from runlane.contract.decide import Decision, LaneState, Meta, decide
from runlane.contract.errors import ErrorInfo, WrongLane
from runlane.contract.outcomes import ClaimResult, Outcome, Result
from runlane.contract.signing import Keyring
from runlane.contract.state import NO_CHANGES, Changes, LaneView
from runlane.kafka import Message
from runlane.owner.intake import Request, subject
from runlane.store.rows import Answer

_ANSWER_BYTES: Final = 400

Decide = Callable[[LaneView, Command, Meta], Decision]


@dataclass(frozen=True, slots=True)
class Desk:
    """What deciding needs besides state: how answers are written and claims signed."""

    codec: Codec
    receipt_keys: Keyring
    decide: Decide = decide


class Batch:
    """The commands of one block to be, decided in the order of their positions.

    ``number`` is the block's, ``time`` its time, ``opened`` when its first command was decided (monotonic).
    """

    __slots__ = ("_desk", "_meta", "bytes", "commands", "last", "last_message", "number", "opened", "purged")

    def __init__(self, desk: Desk, *, partition: int, number: int, time: datetime, opened: float) -> None:
        self._desk = desk
        self._meta = Meta(now=time, partition=partition, block=number)
        self.number = number
        self.opened = opened
        self.commands: list[tuple[Answer, Changes]] = []
        self.purged: list[str] = []
        self.bytes = 0
        self.last = -1
        self.last_message: Message | None = None

    @property
    def time(self) -> datetime:
        """The block's time, taken once."""
        return self._meta.now

    def refuse(self, position: int, message: Message, request: Request, refusal: ErrorInfo) -> None:
        """Journal a refusal that no lane was asked for."""
        self._answer(position, message, request, Decision(None, refusal))

    def decide(self, position: int, message: Message, request: Request, state: LaneState) -> bool:
        """Decide a command on its lane's state and change it; return whether it changed."""
        meta = self._meta
        command = request.command
        assert command is not None, "a request is a command or a refusal"
        if request.host_authorized or request.receipt_valid:
            meta = replace(meta, host_authorized=request.host_authorized, receipt_valid=request.receipt_valid)
        decision = self._desk.decide(state, command, meta)
        changed = not decision.changes.empty
        if changed:
            state.apply(decision.changes)
            if decision.changes.purged:
                self.purged.append(state.lane)
        purged = state.session is not None and state.session.purged
        # The lane of a claim is never erased, so it may not tell of a session that can be purged (G7).
        elsewhere = decision.error is not None and decision.error.code == WrongLane.code
        self._answer(position, message, request, decision, hidden=purged or elsewhere)
        return changed

    def _answer(
        self, position: int, message: Message, request: Request, decision: Decision, *, hidden: bool = False
    ) -> None:
        error = decision.error
        outcome = Outcome(
            correlation_id=request.correlation_id,
            partition=self._meta.partition,
            position=position,
            block=self.number,
            result=self._signed(decision.result),
            error=error,
        )
        ids = ("", "", "") if hidden or request.command is None else subject(request.command)
        data = self._desk.codec.encode_outcome(outcome)
        answer = Answer(
            position,
            request.lane,
            request.correlation_id,
            request.reply_partition,
            request.operation,
            "" if error is None else error.code,
            data,
            *ids,
        )
        self.commands.append((answer, decision.changes if decision.error is None else NO_CHANGES))
        self.bytes += _ANSWER_BYTES + len(data) + len(message.value or b"")
        self.last = position
        self.last_message = message

    def _signed(self, result: Result | None) -> Result | None:
        """Sign a claim's receipt, before the answer is journaled."""
        if isinstance(result, ClaimResult):
            return replace(result, receipt=self._desk.receipt_keys.sign_receipt(result.receipt))
        return result
