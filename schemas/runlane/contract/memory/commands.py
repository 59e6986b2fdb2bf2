"""What products send to the memory sink: one JSON message an append or deletion (design, Topics)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self, TypeAlias

from runlane import strictjson
from runlane.contract.errors import InvalidCommand
from runlane.contract.ids import check_id
from runlane.contract.limits import MAX_COMMAND_PAYLOAD_BYTES
from runlane.contract.memory.codec import decode_event, encode_event
from runlane.contract.memory.values import MemoryEvent
from runlane.contract.payloads.text import dump
from runlane.contract.slices import items, members
from runlane.strictjson import StrictJsonError

_DIGEST_BYTES: Final = 16
_APPEND: Final = "append"
_DELETE: Final = "delete"


@dataclass(frozen=True, slots=True)
class AppendMemory:
    """Append events, each the JSON of ``encode_event``, to what a run of an agent remembers.

    ``key`` names the append: the same one again with the same events changes nothing, with others it is a
    conflict.
    """

    agent_id: str
    run_id: str
    key: str
    events: tuple[bytes, ...]

    @classmethod
    def of(cls, agent_id: str, run_id: str, key: str, events: Iterable[MemoryEvent]) -> Self:
        """Return the append of these events; ``InvalidCommand`` for what is no JSON."""
        return cls(agent_id, run_id, key, tuple(map(encode_event, events)))

    @property
    def digest(self) -> bytes:
        """What two appends of one key are compared by."""
        hashed = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        for event in self.events:
            hashed.update(len(event).to_bytes(8, "big") + event)
        return hashed.digest()


@dataclass(frozen=True, slots=True)
class DeleteMemory:
    """Delete what a run of an agent remembers up to here. ``key`` names the deletion, as an append's."""

    agent_id: str
    run_id: str
    key: str


MemoryCommand: TypeAlias = "AppendMemory | DeleteMemory"


def validate_memory(command: MemoryCommand) -> None:
    """Raise ``InvalidCommand`` unless ids, events and size are as they must be."""
    for field, value in (("agent_id", command.agent_id), ("run_id", command.run_id), ("key", command.key)):
        if not value:
            raise InvalidCommand(f"a memory message needs {field}", code=f"{field}_required")
        check_id(value, field)
    if isinstance(command, DeleteMemory):
        return
    if not command.events:
        raise InvalidCommand("an append of memory needs an event", code="memory_events_required")
    if sum(map(len, command.events)) > MAX_COMMAND_PAYLOAD_BYTES:
        raise InvalidCommand("the events of one append are too large", code="payload_too_large")
    for event in command.events:
        decode_event(event)


def encode_memory_command(command: MemoryCommand) -> bytes:
    """Return a message's value."""
    head = b'"AgentID":%b,"RunID":%b,"Key":%b' % (
        dump(command.agent_id),
        dump(command.run_id),
        dump(command.key),
    )
    if isinstance(command, DeleteMemory):
        return b'{"Op":"delete",%b}' % head
    return b'{"Op":"append",%b,"Events":[%b]}' % (head, b",".join(command.events))


def decode_memory_command(value: bytes | None) -> MemoryCommand:
    """Return the valid command of a message's value; ``InvalidCommand`` for anything else."""
    found = _members(value or b"")
    operation, agent, run, key = (_text(found, name) for name in ("Op", "AgentID", "RunID", "Key"))
    command: MemoryCommand
    if operation == _APPEND:
        command = AppendMemory(agent, run, key, _events(found.get("Events", b"")))
    elif operation == _DELETE:
        command = DeleteMemory(agent, run, key)
    else:
        raise InvalidCommand("no operation on memory", code="memory_operation")
    validate_memory(command)
    return command


def _members(value: bytes) -> dict[str, bytes]:
    rule = ""
    try:
        return members(value)
    except StrictJsonError as refused:
        rule = refused.rule
    # Raised here, so that the text does not hang on the error as its context.
    raise InvalidCommand("not the JSON of a memory message", code=rule)


def _events(value: bytes) -> tuple[bytes, ...]:
    rule = ""
    try:
        return tuple(items(value))
    except StrictJsonError as refused:
        rule = refused.rule
    raise InvalidCommand("the events of an append are no list", code=rule)


def _text(found: dict[str, bytes], name: str) -> str:
    raw, rule = found.get(name, b""), ""
    try:
        value = strictjson.loads_exact(raw, max_bytes=len(raw)) if raw else None
    except StrictJsonError as refused:
        value, rule = None, refused.rule
    if not isinstance(value, str):
        raise InvalidCommand(f"{name} of a memory message is not a text", code=rule or "memory_operation")
    return value
