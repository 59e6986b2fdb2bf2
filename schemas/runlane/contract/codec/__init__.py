"""Commands, outcomes and committed records as bytes and back, with their headers (design, Wire formats).

    data = encode_command(AppendRunRecord(record))
    decode_command(data)                            # the equal command, or UndecodableMessage

A ``Codec`` with ``SchemaIds`` writes the schema registry's frame instead of Avro's single-object encoding;
the module functions are those of a codec without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from runlane.contract.codec.commands import get_command, put_command
from runlane.contract.codec.framing import Frame, SchemaIds
from runlane.contract.codec.headers import (
    CommandHeaders,
    Headers,
    RawHeaders,
    command_headers,
    memory_headers,
    outcome_correlation,
    outcome_headers,
    parse_command_headers,
    record_headers,
    record_lane_seq,
)
from runlane.contract.codec.outcomes import get_committed, get_outcome, put_committed, put_outcome
from runlane.contract.commands import Command
from runlane.contract.errors import InvalidCommand, UndecodableMessage
from runlane.contract.limits import MAX_MESSAGE_BYTES
from runlane.contract.outcomes import Outcome
from runlane.contract.schemas import COMMAND, COMMITTED_RECORD, OUTCOME, history
from runlane.contract.values import CommittedRecord

__all__ = [
    "MAX_COMMAND_BYTES",
    "Codec",
    "CommandHeaders",
    "Headers",
    "RawHeaders",
    "SchemaIds",
    "command_headers",
    "decode_command",
    "decode_outcome",
    "decode_record",
    "encode_command",
    "encode_outcome",
    "encode_record",
    "memory_headers",
    "outcome_correlation",
    "outcome_headers",
    "parse_command_headers",
    "record_headers",
    "record_lane_seq",
]

MAX_COMMAND_BYTES: Final = MAX_MESSAGE_BYTES - 8 * 1024
"""An encoded command; key, headers and the broker's own framing share the message limit with it."""

T = TypeVar("T")


class Codec:
    """Encodes and decodes the three messages; immutable, safe to share between threads."""

    def __init__(self, ids: SchemaIds | None = None) -> None:
        self._command = Frame(history(COMMAND), ids)
        self._outcome = Frame(history(OUTCOME), ids)
        self._record = Frame(history(COMMITTED_RECORD), ids)

    def encode_command(self, command: Command) -> bytes:
        """Return the message of ``command``, valid or not.

        Raises ``InvalidCommand`` with code ``not_encodable`` (a naive time, an unpaired surrogate, a field
        of another type) or ``message_too_large``.
        """
        try:
            data = self._command.write({"op": put_command(command)})
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            raise InvalidCommand(
                f"a field cannot be encoded ({type(error).__name__})", code="not_encodable"
            ) from None
        if len(data) > MAX_COMMAND_BYTES:
            raise InvalidCommand("the command is larger than a message may be", code="message_too_large")
        return data

    def decode_command(self, data: bytes | None) -> Command:
        """Return the command of a message; raises ``UndecodableMessage``, whose ``code`` names the reason."""
        return _checked(get_command, self._command.read(data)["op"])

    def encode_outcome(self, outcome: Outcome) -> bytes:
        """Return the message of ``outcome``."""
        return self._outcome.write(put_outcome(outcome))

    def decode_outcome(self, data: bytes | None) -> Outcome:
        """Return the outcome of a message; raises ``UndecodableMessage``."""
        return _checked(get_outcome, self._outcome.read(data))

    def encode_record(self, record: CommittedRecord) -> bytes:
        """Return the message of a committed record."""
        return self._record.write(put_committed(record))

    def decode_record(self, data: bytes | None) -> CommittedRecord:
        """Return the committed record of a message; raises ``UndecodableMessage``."""
        return _checked(get_committed, self._record.read(data))


def _checked(get: Callable[[Any], T], datum: Any) -> T:
    try:
        return get(datum)
    except (OverflowError, ValueError) as error:
        raise UndecodableMessage(
            f"a field is out of range ({type(error).__name__})", code="value_out_of_range"
        ) from None


_DEFAULT: Final = Codec()
encode_command = _DEFAULT.encode_command
decode_command = _DEFAULT.decode_command
encode_outcome = _DEFAULT.encode_outcome
decode_outcome = _DEFAULT.decode_outcome
encode_record = _DEFAULT.encode_record
decode_record = _DEFAULT.decode_record
