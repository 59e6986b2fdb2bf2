"""What a batch of messages does to memory: which rows it adds, and what each message is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runlane.contract.codec import CommandHeaders, parse_command_headers
from runlane.contract.errors import ErrorInfo, EventConflict, InvalidCommand, Misrouted, RunlaneError
from runlane.contract.memory import AppendMemory, MemoryCommand, decode_memory_command
from runlane.contract.outcomes import AppendResult
from runlane.contract.partitioner import partition_for
from runlane.kafka import Message
from runlane.store.memory.ports import Named
from runlane.store.memory.rows import MemoryRows


@dataclass(frozen=True, slots=True)
class Request:
    """One message as it was read: its command, or why it is none."""

    position: int
    headers: CommandHeaders
    command: MemoryCommand | RunlaneError

    @property
    def named(self) -> Named | None:
        """Agent, run and key of the command."""
        command = self.command
        if isinstance(command, RunlaneError):
            return None
        return command.agent_id, command.run_id, command.key


@dataclass(frozen=True, slots=True)
class Reply:
    """What one message is answered."""

    position: int
    headers: CommandHeaders
    answer: AppendResult | ErrorInfo


def read(message: Message, position: int, *, partition: int, partitions: int) -> Request:
    """Read a message of ``partition``; what breaks a rule is a request to be refused."""
    command: MemoryCommand | RunlaneError
    try:
        command = decode_memory_command(message.value)
        key = command.run_id.encode()
        if message.key != key:
            command = InvalidCommand("a memory message has its run as key", code="memory_key")
        elif partition_for(key, partitions) != partition:
            command = Misrouted("the message is on another partition than its key's")
    except InvalidCommand as refused:
        command = refused
    return Request(position, parse_command_headers(message.headers), command)


def decide(
    requests: Sequence[Request], known: Mapping[Named, tuple[int, bytes]], rows: MemoryRows
) -> Sequence[Reply]:
    """Add what ``requests`` do to ``rows`` and return their answers.

    ``known`` are the appends and deletions of these names that are stored. The same one again changes
    nothing and has the first one's id.
    """
    stored = dict(known)
    return [Reply(request.position, request.headers, _answer(request, stored, rows)) for request in requests]


def _answer(
    request: Request, stored: dict[Named, tuple[int, bytes]], rows: MemoryRows
) -> AppendResult | ErrorInfo:
    command, named = request.command, request.named
    if isinstance(command, RunlaneError) or named is None:
        assert isinstance(command, RunlaneError), "a command has a name"
        rows.add_refusal(request.position, command.code)
        return command.info()
    digest = command.digest if isinstance(command, AppendMemory) else b""
    before = stored.get(named)
    if before is not None:
        position, first = before
        if first == digest:
            return AppendResult(str(position), inserted=False)
        conflict = EventConflict(
            "the key names another change of this memory", run_id=command.run_id, event_key=command.key
        )
        rows.add_refusal(request.position, conflict.code)
        return conflict.info()
    stored[named] = (request.position, digest)
    if isinstance(command, AppendMemory):
        rows.add_append(request.position, command)
    else:
        rows.add_delete(request.position, command)
    return AppendResult(str(request.position), inserted=True)
