"""An owner whose Kafka clients fail for good goes on with new ones, as a new process would (G1, G4)."""

from __future__ import annotations

import threading

import pytest

from runlane.contract.errors import FatalKafkaError
from runlane.kafka import Delivery, GroupSettings, KafkaConfig, Polled
from runlane.owner.kafka_log import KafkaLog
from runlane.owner.owner import Owner
from runlane.owner.ports import Outgoing
from runlane.store import topic_log
from runlane.store.block import LogId
from runlane.store.stops import LogFacts
from tests.owner.simulation.clients import agent_session
from tests.owner.stack import (
    CONFIG,
    PATIENCE,
    TOPICS,
    Journal,
    Worker,
    broker,
    open_ports,
    start_over,
)
from tests.owner.test_end_to_end import check_chain, check_records

pytestmark = pytest.mark.slow
LOST = FatalKafkaError("every broker is lost")


class FailingLog(KafkaLog):
    """A log whose clients fail for good in one call: of a poll, once it has fetched something."""

    def __init__(self, kafka: KafkaConfig, call: str = "", at: int = 1) -> None:
        super().__init__(kafka, topics=TOPICS, group=GroupSettings("owners"), log=LogId("embedded", "log-1"))
        self._call = call
        self.calls_left = at
        self.owner: Owner | None = None

    def poll(self, max_messages: int, timeout: float) -> Polled:
        polled = super().poll(max_messages, timeout)
        if polled.messages:
            self._count("poll")
        return polled

    def send(self, message: Outgoing, delivered: Delivery) -> bool:
        self._count("send")
        return super().send(message, delivered)

    def facts(self, partition: int, tip_offset: int) -> LogFacts:
        self._count("facts")
        return super().facts(partition, tip_offset)

    def renew(self, failure: FatalKafkaError) -> None:
        super().renew(failure)
        if self.owner is not None:
            self.owner.stop()

    def _count(self, call: str) -> None:
        if call == self._call:
            self.calls_left -= 1
            if not self.calls_left:
                raise LOST


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients are made anew however short they lasted."""
    monkeypatch.setattr(topic_log, "_SHORTEST_LIFE_SECONDS", 0.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("call", "at"), [("poll", 1), ("poll", 4), ("send", 1), ("send", 6), ("facts", 1)])
def test_what_was_under_way_is_answered_once_and_in_order(held: Journal, call: str, at: int) -> None:
    before = set(threading.enumerate())
    with broker() as kafka:
        worker, log = Worker(kafka), FailingLog(kafka, call, at)
        running = start_over(log, held)
        worker.play(agent_session("alpha", 3, purge=True))
        threads = [thread.name for thread in threading.enumerate() if thread not in before]
        assert log.calls_left <= 0
        assert threads.count("owner-log") == threads.count("owner-poll") == 1
        running.stop()
        worker.hear_all()
        for partition in range(TOPICS.partitions):
            check_chain(held, partition)
        check_records(worker, "s/alpha")
        worker.close()


@pytest.mark.usefixtures("patient")
def test_one_that_is_stopped_while_it_starts_anew_ends(held: Journal) -> None:
    with broker() as kafka:
        log = FailingLog(kafka, "facts")
        log.owner = Owner(CONFIG, open_ports(log, held))
        thread = threading.Thread(target=log.owner.run, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        log.close()


def test_clients_that_do_not_last_end_it(held: Journal) -> None:
    with broker() as kafka:
        log = FailingLog(kafka, "facts")
        with pytest.raises(FatalKafkaError):
            Owner(CONFIG, open_ports(log, held)).run()
        log.close()
