"""From a message to a command with what ``decide`` must be told, or to the refusal that answers it.

Whatever a message holds, it becomes exactly one answer: nothing here raises for bad input, and no payload
byte reaches an answer's text (design, Who may do what; Wire formats).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, get_args

from runlane.contract.codec import Codec, CommandHeaders, parse_command_headers
from runlane.contract.commands import (
    AppendRunRecord,
    ClaimRun,
    Command,
    CreateSession,
    EndSession,
    PurgeSession,
    StartChildRun,
    StartOneShotChildRun,
    StartOneShotRun,
    StartRootRun,
    operation_name,
)
from runlane.contract.errors import (
    ContractError,
    ErrorInfo,
    InvalidCommand,
    Misrouted,
    UndecodableMessage,
)
from runlane.contract.ids import RUN_PREFIX, id_fault, lane_fault, plainly_valid
from runlane.contract.limits import MAX_ID_BYTES
from runlane.contract.partitioner import partition_for
from runlane.contract.signing import Keyring
from runlane.kafka import Message

_MAX_KEY_BYTES: Final = len(RUN_PREFIX) + MAX_ID_BYTES
NOBODY: Final = -1
"""The reply partition of an answer that nobody can be told."""


@dataclass(slots=True)
class Request:
    """One message, read: a command, or the refusal that is its answer; made once, never changed."""

    correlation_id: str
    reply_partition: int
    lane: str
    operation: str
    command: Command | None
    refusal: ErrorInfo | None
    host_authorized: bool = False
    receipt_valid: bool = False


class Intake:
    """Reads the messages of one partition. ``partitions`` is the count that the chains were started with."""

    def __init__(
        self,
        *,
        partition: int,
        partitions: int,
        reply_partitions: int,
        codec: Codec,
        host_keys: Keyring | None,
        receipt_keys: Keyring,
    ) -> None:
        self._partition = partition
        self._partitions = partitions
        self._reply_partitions = reply_partitions
        self._decode = codec.decode_command
        self._host_keys = host_keys
        self._receipt_keys = receipt_keys

    def lane(self, message: Message) -> str:
        """Return the lane that a message's key names, empty when it is none or another partition's."""
        key = message.key
        if key is None or partition_for(key, self._partitions) != self._partition:
            return ""
        return lane_of(key)[0]

    def read(self, message: Message) -> Request:
        """Return the command of a message, or its refusal; never raises."""
        headers = parse_command_headers(message.headers)
        reply = headers.reply_partition
        told = reply is not None and reply < self._reply_partitions and headers.correlation_id != ""
        to = reply if told and reply is not None else NOBODY
        lane = self.lane(message)
        try:
            command = self._decode(message.value)
        except UndecodableMessage as error:
            return self._refused(message, headers, (to, lane, ""), error)
        operation = OPERATIONS[type(command)]
        if not (told and lane):
            refusal = self._refusal(message.key or b"", told=told)
            return self._refused(message, headers, (to, lane, operation), refusal)
        request = Request(headers.correlation_id, to, lane, operation, command, None)
        if not isinstance(command, AppendRunRecord):
            self._judge_proofs(request, message, headers)
        return request

    def _refusal(self, key: bytes, *, told: bool) -> ContractError:
        """Say why a command can't be asked of a lane: nobody to tell, or no lane of this partition."""
        if not told:
            return InvalidCommand("the headers name no place to answer to", code="bad_reply_partition")
        fault = lane_of(key)[1]
        if fault:
            return InvalidCommand("the message key is not a lane", code=fault)
        return Misrouted("the key belongs to another partition")

    def _judge_proofs(self, request: Request, message: Message, headers: CommandHeaders) -> None:
        match request.command:
            case CreateSession() | EndSession() | PurgeSession():
                keys = self._host_keys
                request.host_authorized = keys is not None and keys.verify_host(
                    message.key or b"", message.value or b"", headers.signature
                )
            case StartRootRun(run=run, receipt=receipt) | StartChildRun(run=run, receipt=receipt):
                named = receipt is not None and (receipt.run_id, receipt.lane) == (run.run_id, request.lane)
                request.receipt_valid = named and self._receipt_keys.verify_receipt(receipt)
            case StartOneShotChildRun(run=run, receipt=receipt):
                named = receipt is not None and (receipt.run_id, receipt.lane) == (run.run_id, request.lane)
                request.receipt_valid = named and self._receipt_keys.verify_receipt(receipt)
            case _:
                pass

    def _refused(
        self, message: Message, headers: CommandHeaders, to: tuple[int, str, str], error: ContractError
    ) -> Request:
        """Return the refusal, described by size and digest, which is all that an operator is shown of it."""
        value = message.value or b""
        info = error.info()
        details = (("size", str(len(value))), ("sha256", hashlib.sha256(value).hexdigest()))
        described = ErrorInfo(info.name, info.code, info.message, info.retryable, info.details + details)
        reply, lane, operation = to
        return Request(headers.correlation_id, reply, lane, operation, None, described)


def lane_of(key: bytes) -> tuple[str, str]:
    """Return the lane that a message key spells, or an empty one and the code of the rule it breaks."""
    return ("", "id_too_long") if len(key) > _MAX_KEY_BYTES else _lane_of(key)


@lru_cache(maxsize=65_536)
def _lane_of(key: bytes) -> tuple[str, str]:
    try:
        lane = key.decode()
    except UnicodeDecodeError:
        return "", "lane_not_utf8"
    fault = lane_fault(lane)
    return ("", fault) if fault else (lane, "")


def subject(command: Command) -> tuple[str, str, str]:
    """Return run, session and agent that a command names, each empty when it is no valid identifier."""
    match command:
        case AppendRunRecord(record=record):
            ids = ("", "", "") if record is None else (record.run_id, record.session_id, record.agent_id)
        case StartRootRun(run=run) | StartChildRun(run=run):
            ids = (run.run_id, run.session_id, run.agent_id)
        case StartOneShotRun(run=run) | StartOneShotChildRun(run=run):
            ids = (run.run_id, run.session_id, run.agent_id)
        case CreateSession() | EndSession() | PurgeSession():
            ids = ("", command.session_id, "")
        case ClaimRun():
            ids = (command.run_id, "", "")
        case _:
            record = command.record
            named = ("", "") if record is None else (record.session_id, record.agent_id)
            ids = (command.run_id, *named)
    run_id, session_id, agent_id = ids
    if plainly_valid(run_id, session_id, agent_id):
        return run_id, session_id, agent_id
    return _valid(run_id), _valid(session_id), _valid(agent_id)


def _valid(value: str) -> str:
    return "" if id_fault(value) else value


OPERATIONS: Final[dict[type, str]] = {kind: operation_name(kind) for kind in get_args(Command)}
"""The journal's name of each operation: ``append_run_record``."""
