"""A role on a thread of its own: it owns partitions of a topic until it leaves, and its stops are told."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Protocol, Self

import structlog

from runlane.contract.errors import Unavailable
from runlane.service.background import Background, Work
from runlane.store.stops import Stop
from runlane.store.topic_log import TopicLog

_LOOK_SECONDS: Final = 1.0
_STEP_SECONDS: Final = 0.02


class Role(Work, Protocol):
    """What owns partitions: an owner, a memory sink."""

    def stops(self) -> Mapping[int, Stop]:
        """Return the stopped partitions and why; any thread."""
        ...


class RoleThread(Background, ABC):
    """Runs from entering to leaving: ``with SomeThread(parts) as role: role.ended.wait()``.

    ``log`` is closed at the end. ``name`` is what an operator is told: "owner", "memory sink".
    """

    name: str
    subject = "partition"
    """What is said to be stopped."""

    def __init__(self, role: Role, log: TopicLog) -> None:
        thread = self.name.replace(" ", "-")
        super().__init__(thread, role)
        self._role = role
        self._log = log
        self._leaving = threading.Event()
        self._told: Mapping[int, Stop] = {}
        self._company = threading.Thread(target=self._look, name=f"{thread}-company")

    @property
    @abstractmethod
    def open_partitions(self) -> int:
        """How many partitions are worked on now."""

    def answer_of(self, stop: Stop) -> str:
        """Return the command that an operator may answer a stop with."""
        return stop.answer

    def accompany(self) -> None:
        """Do what else is due now and then; raises nothing."""

    def stops(self) -> dict[int, str]:
        """Return each stopped partition with its stop and what answers it."""
        return {n: f"{stop.kind}: {self.answer_of(stop)}" for n, stop in self._role.stops().items()}

    def wait_until_open(self, partitions: int, seconds: float) -> None:
        """Wait until that many partitions are open; ``Unavailable`` when they are not in time."""
        waited = 0.0
        while self.open_partitions < partitions:
            self.check()
            if waited >= seconds:
                reasons = "; ".join(self.stops().values()) or "time is over"
                raise Unavailable(f"the {self.name} did not open its partitions ({reasons})")
            waited += _STEP_SECONDS
            self.ended.wait(_STEP_SECONDS)

    def __enter__(self) -> Self:
        """Start."""
        super().__enter__()
        self._company.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Settle what is in flight, then let every partition go."""
        self._leaving.set()
        super().__exit__(kind, error, trace)
        self._company.join()
        self._log.close()

    def _look(self) -> None:
        while not self._leaving.wait(_LOOK_SECONDS):
            self._tell()
            self.accompany()

    def _tell(self) -> None:
        """Log the stops that are new."""
        stops = dict(self._role.stops())
        for number, stop in stops.items():
            if self._told.get(number) != stop:
                structlog.get_logger(__name__).error(
                    f"{self.subject} stopped",
                    partition=number,
                    stop=stop.kind.value,
                    reason=stop.message,
                    answer=self.answer_of(stop),
                )
        self._told = stops
