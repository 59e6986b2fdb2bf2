"""Kafka's errors as errors of the one tree."""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaError, KafkaException

from runlane.contract.errors import (
    ContractError,
    FatalKafkaError,
    Overloaded,
    RunlaneError,
    TopicMismatch,
    Unavailable,
)

_NO_TOPIC: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - the library's public name for a local error
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    }
)
_TOO_LARGE: Final = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
_FATAL: Final = frozenset({KafkaError._FATAL, KafkaError._FENCED})  # noqa: SLF001

_MEANINGS: Final = {KafkaError.UNKNOWN_MEMBER_ID: "the group has members, and this is not one of them"}
"""What an operator is told beside the error's name, where that says little."""


def kafka_error(exception: KafkaException) -> KafkaError | None:
    """Return the error inside ``exception``, None where the library gave only a text."""
    first = exception.args[0] if exception.args else None
    return first if isinstance(first, KafkaError) else None


def to_error(error: KafkaError | KafkaException | None, doing: str, *, topic: str = "") -> RunlaneError:
    """Return what ``error`` means here; ``doing`` says in the message what failed.

    A fatal error is ``FatalKafkaError``, a missing topic or partition ``TopicMismatch``, a message above
    the limit ``ContractError`` with code ``message_too_large``, a full queue ``Overloaded``, all else
    ``Unavailable``.
    """
    if isinstance(error, KafkaException):
        error = kafka_error(error)
    if error is None:
        return Unavailable(f"{doing} failed")
    code = error.code()
    meaning = f" ({_MEANINGS[code]})" if code in _MEANINGS else ""
    text = f"{doing} failed: {error.name()}{meaning}"
    if error.fatal() or code in _FATAL:
        return FatalKafkaError(text)
    if code in _NO_TOPIC:
        return TopicMismatch(text, topic=topic)
    if code in _TOO_LARGE:
        return ContractError(text, code="message_too_large")
    if code == KafkaError._QUEUE_FULL:  # noqa: SLF001
        return Overloaded(text)
    return Unavailable(text)
