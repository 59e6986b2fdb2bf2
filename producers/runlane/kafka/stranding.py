"""A client that has lost every broker for good, told from one whose brokers are away.

A broker that was frozen or is the last of a rolling restart can be missing from the cluster's own list for a
moment. A client that asks just then may forget all its brokers and never look for one again (librdkafka
issue 5301): nothing is raised, and it stays silent until it is made anew. An outage looks the same from
inside, so a new client is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import KafkaException

# The package exports the name, but not in the way that type checkers ask for.
from confluent_kafka.admin import AdminClient  # pyright: ignore[reportPrivateImportUsage]

from runlane.contract.errors import FatalKafkaError, RunlaneError, Unavailable
from runlane.kafka.config import KafkaConfig

_QUIET_SECONDS: Final = 15.0
"""How long a client that hears nothing is believed."""
_ASK_SECONDS: Final = 1.0
_NEW_SECONDS: Final = 2.0
_LAST_SECONDS: Final = 5.0
"""Longer than a client waits between two attempts to connect: brokers that are just back are found in it."""

Ask = Callable[..., Any]
"""The client's ``list_topics(timeout=seconds)``, which raises ``KafkaException`` when no broker answers."""


class Stranding:
    """Looks after one client, in the thread that uses it; ``lost`` once that client can never go on.

    A client that has heard nothing for a while asks its brokers something. That takes milliseconds, 3 seconds
    in an outage, and 6 where it turns out that the client is lost.
    """

    def __init__(self, config: KafkaConfig, ask: Ask) -> None:
        self._config = config
        self._ask = ask
        self.lost = False
        self.answered()

    def answered(self) -> None:
        """A broker has answered."""
        self._look_at = time.monotonic() + _QUIET_SECONDS

    def found(self) -> FatalKafkaError | None:
        """Return why the client can never go on, or None; asks when that is due."""
        if time.monotonic() < self._look_at:
            return None
        silent = not _answers(self._ask, _ASK_SECONDS) and self._others_answer()
        if silent and not _answers(self._ask, _LAST_SECONDS):
            self.lost = True
            return FatalKafkaError("the client has lost every broker, and a new one finds them")
        self.answered()
        return None

    def judge(self, failure: RunlaneError) -> RunlaneError:
        """Return the error of a call that failed: the client's end, where that is why nobody answered."""
        return (self.found() or failure) if isinstance(failure, Unavailable) else failure

    def _others_answer(self) -> bool:
        return _answers(AdminClient(self._config.options()).list_topics, _NEW_SECONDS)


def _answers(ask: Ask, seconds: float) -> bool:
    try:
        return bool(ask(timeout=seconds).brokers)
    except KafkaException:
        return False
