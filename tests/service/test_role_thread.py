"""A role on threads: it runs from entering to leaving, tells its stops once each, and what ended it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

import pytest
from structlog.testing import capture_logs

from runlane.contract.errors import FatalKafkaError, Unavailable
from runlane.contract.topics import Topics
from runlane.kafka import EmbeddedBroker, GroupSettings, KafkaConfig
from runlane.service import role_thread
from runlane.service.role_thread import RoleThread
from runlane.store.block import LogId
from runlane.store.memory import KafkaMemoryLog
from runlane.store.stops import Stop, StopKind
from tests.service.commands import PATIENCE

MISSING = Stop(StopKind.BLOCK_MISSING, 1, "block 7 is not there")
TOPICS = Topics(partitions=1)


class Scripted:
    """A role that does what a test says."""

    def __init__(self) -> None:
        self.ending = threading.Event()
        self.failure: Exception | None = None
        self.found: dict[int, Stop] = {}

    def run(self) -> None:
        self.ending.wait()
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        self.ending.set()

    def stops(self) -> Mapping[int, Stop]:
        return self.found


class Thread(RoleThread):
    name = "test role"
    subject = "test partition"
    opened = 0

    def __init__(self, role: Scripted, log: KafkaMemoryLog) -> None:
        super().__init__(role, log)
        self.looks = threading.Semaphore(0)

    @property
    def open_partitions(self) -> int:
        return self.opened

    def answer_of(self, stop: Stop) -> str:
        return f"repair {stop.partition}"

    def accompany(self) -> None:
        self.looks.release()


@pytest.fixture
def log() -> Iterator[KafkaMemoryLog]:
    with EmbeddedBroker({TOPICS.memory.name: 1}) as broker:
        kafka = KafkaConfig(broker.bootstrap)
        yield KafkaMemoryLog(kafka, topics=TOPICS, group=GroupSettings("g"), log=LogId("c", "t"))


def test_each_stop_is_told_once_with_what_answers_it(
    log: KafkaMemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(role_thread, "_LOOK_SECONDS", 0.001)
    role = Scripted()
    role.found = {1: MISSING}
    with capture_logs() as lines, Thread(role, log) as thread:
        for _ in range(3):
            assert thread.looks.acquire(timeout=PATIENCE)
        assert thread.stops() == {1: "block_missing: repair 1"}
    said = [
        (line["event"], line["partition"], line["stop"], line["reason"], line["answer"]) for line in lines
    ]
    assert said == [("test partition stopped", 1, "block_missing", MISSING.message, "repair 1")]


def test_who_waits_for_partitions_is_told_why_they_do_not_open(log: KafkaMemoryLog) -> None:
    role = Scripted()
    role.found = {1: MISSING}
    with Thread(role, log) as thread:
        with pytest.raises(Unavailable, match=r"test role .*block_missing: repair 1"):
            thread.wait_until_open(1, 0.05)
        thread.opened = 1
        thread.wait_until_open(1, 0.05)


def test_what_ends_a_role_is_raised_where_its_user_looks(log: KafkaMemoryLog) -> None:
    role = Scripted()
    role.failure = FatalKafkaError("fenced")
    with Thread(role, log) as thread:
        thread.check()
        role.stop()
        assert thread.ended.wait(PATIENCE)
        with pytest.raises(FatalKafkaError):
            thread.check()
        with pytest.raises(FatalKafkaError):
            thread.wait_until_open(1, PATIENCE)


def test_leaving_ends_the_role_without_a_failure(log: KafkaMemoryLog) -> None:
    with Thread(Scripted(), log) as thread:
        assert not thread.ended.is_set()
    assert thread.ended.is_set()
    thread.check()
