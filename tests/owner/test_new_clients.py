"""An owner whose Kafka clients fail for good goes on with new ones, as a new process would (G1, G4)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runlane.contract.errors import FatalKafkaError
from runlane.kafka import GroupSettings, KafkaConfig, Polled
from runlane.owner.kafka_log import KafkaLog
from runlane.owner.owner import Owner
from runlane.store import topic_log
from runlane.store.block import LogId
from tests.owner.simulation.clients import agent_session, one_shot
from tests.owner.stack import CONFIG, PATIENCE, TOPICS, Journal, Running, Worker, broker, journal, open_ports
from tests.owner.test_end_to_end import check_chain, check_records, headers, wait_until_open

pytestmark = pytest.mark.slow
LOST = FatalKafkaError("every broker is lost")


class FailingLog(KafkaLog):
    """A log whose clients fail for good in the next poll after ``fail``."""

    def __init__(self, kafka: KafkaConfig) -> None:
        super().__init__(kafka, topics=TOPICS, group=GroupSettings("owners"), log=LogId("embedded", "log-1"))
        self._due = threading.Event()
        self.failed = threading.Event()

    def fail(self) -> None:
        self._due.set()
        assert self.failed.wait(PATIENCE)

    def poll(self, max_messages: int, timeout: float) -> Polled:
        if self._due.is_set():
            self._due.clear()
            self.failed.set()
            raise LOST
        return super().poll(max_messages, timeout)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Journal]:
    with journal(tmp_path / "journal") as opened:
        yield opened


def test_it_takes_its_partitions_over_and_loses_nothing(
    held: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_log, "_SHORTEST_LIFE_SECONDS", 0.0)
    with broker() as kafka:
        worker, log = Worker(kafka), FailingLog(kafka)
        ports = open_ports(log, held)
        owner = Owner(CONFIG, ports)
        thread = threading.Thread(target=owner.run, daemon=True)
        running = Running(owner, log, thread, ports)
        thread.start()
        worker.play(one_shot("before"))
        log.fail()
        worker.play(agent_session("after", 3, purge=True))
        wait_until_open(running)
        running.stop()
        worker.hear_all()
        for partition in range(TOPICS.partitions):
            check_chain(held, partition)
            assert max(header.epoch for header in headers(held, partition)) == 2
        check_records(worker, "s/after")
        worker.close()


def test_clients_that_do_not_last_end_it(held: Journal) -> None:
    with broker() as kafka:
        log = FailingLog(kafka)
        log._due.set()
        with pytest.raises(FatalKafkaError):
            Owner(CONFIG, open_ports(log, held)).run()
        log.close()
