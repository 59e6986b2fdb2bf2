"""Kafka's errors as errors of the one tree."""

from __future__ import annotations

import time
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from runlane.contract.errors import (
    ContractError,
    FatalKafkaError,
    KafkaNotPermitted,
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
_REFUSED: Final = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError._AUTHENTICATION,  # noqa: SLF001
    }
)
_REPEAT_SECONDS: Final = 5.0
"""A client tries to connect again after two seconds at most; a refusal that is older is over."""
_AWAY: Final = frozenset({KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._SSL})  # noqa: SLF001

_MEANINGS: Final = {KafkaError.UNKNOWN_MEMBER_ID: "the group has members, and this is not one of them"}
"""What an operator is told beside the error's name, where that says little."""


def kafka_error(exception: KafkaException) -> KafkaError | None:
    """Return the error inside ``exception``, None where the library gave only a text."""
    first = exception.args[0] if exception.args else None
    return first if isinstance(first, KafkaError) else None


def to_error(error: KafkaError | KafkaException | None, doing: str, *, topic: str = "") -> RunlaneError:
    """Return what ``error`` means here; ``doing`` says in the message what failed.

    What our user may not do, or a user that the cluster does not know, is ``KafkaNotPermitted``, a fatal
    error ``FatalKafkaError``, a missing topic or partition ``TopicMismatch``, a message above the limit
    ``ContractError`` with code ``message_too_large``, a full queue ``Overloaded``, all else ``Unavailable``.
    """
    if isinstance(error, KafkaException):
        error = kafka_error(error)
    if error is None:
        return Unavailable(f"{doing} failed")
    code = error.code()
    meaning = f" ({_MEANINGS[code]})" if code in _MEANINGS else ""
    text = f"{doing} failed: {error.name()}{meaning}"
    if code in _REFUSED:
        return KafkaNotPermitted(text)
    if error.fatal() or code in _FATAL:
        return FatalKafkaError(text)
    if code in _NO_TOPIC:
        return TopicMismatch(text, topic=topic)
    if code in _TOO_LARGE:
        return ContractError(text, code="message_too_large")
    if code == KafkaError._QUEUE_FULL:  # noqa: SLF001
        return Overloaded(text)
    return Unavailable(text)


class Standing:
    """Whether the brokers take our user, as a client's ``error_cb`` hears it.

    A refused user is told to no call: what it asks for times out as if no broker was there. A refusal counts
    as long as it is repeated, which each attempt to connect does.
    """

    def __init__(self) -> None:
        self._refusal: RunlaneError | None = None
        self._since = 0.0
        self._last = 0.0

    def hear(self, error: KafkaError) -> None:
        """Take what the library says of a broker."""
        if error.code() == KafkaError._AUTHENTICATION:  # noqa: SLF001
            now = time.monotonic()
            if self._current() is None:
                self._since = now
            self._last = now
            self._refusal = to_error(error, "signing in")
        elif error.code() in _AWAY:
            self._refusal = None

    def clear(self) -> None:
        """Forget a refusal, since a broker answered."""
        self._refusal = None

    def judge(self, failure: RunlaneError) -> RunlaneError:
        """Return the error of a call that failed: the refusal, where that is why nobody answered."""
        refusal = self._current()
        return refusal if isinstance(failure, Unavailable) and refusal is not None else failure

    def refused_for(self, seconds: float) -> RunlaneError | None:
        """Return the refusal when the brokers have repeated it for that long, else None."""
        return self._current() if self._last - self._since >= seconds else None

    def _current(self) -> RunlaneError | None:
        return self._refusal if time.monotonic() - self._last <= _REPEAT_SECONDS else None
