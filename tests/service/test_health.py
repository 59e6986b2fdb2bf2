"""Ready means progress; the probe server says so."""

import json
import urllib.error
import urllib.request

import pytest
from prometheus_client import CollectorRegistry, Counter

from runlane.service.health import Progress, Pulse
from runlane.service.probes import ProbeServer
from tests.harness.ports import free_ports
from tests.service.commands import PATIENCE


class Owner:
    def __init__(self) -> None:
        self.now = 100.0
        self.pulse = Pulse(partitions=4, done=0, waiting=False, stops={})

    def progress(self) -> Progress:
        return Progress(lambda: self.pulse, patience=30, clock=lambda: self.now)


def test_an_idle_owner_is_ready_for_ever() -> None:
    owner = Owner()
    progress = owner.progress()
    owner.now += 3600

    assert progress.faults() == {}


def test_waiting_work_without_progress_is_a_fault_after_a_while() -> None:
    owner = Owner()
    progress = owner.progress()
    owner.pulse = Pulse(4, 7, True, {})

    assert progress.faults() == {}
    owner.now += 29
    assert progress.faults() == {}
    owner.now += 2
    assert progress.faults() == {"owner": "commands wait and none is decided"}


def test_progress_makes_it_ready_again() -> None:
    owner = Owner()
    progress = owner.progress()
    owner.pulse = Pulse(4, 7, True, {})
    progress.faults()
    owner.now += 60
    assert progress.faults() != {}

    owner.pulse = Pulse(4, 8, True, {})

    assert progress.faults() == {}


def test_a_stopped_partition_and_no_partition_are_faults() -> None:
    owner = Owner()
    owner.pulse = Pulse(4, 7, False, {2: "log_replaced: runlane adopt-log"})
    assert owner.progress().faults() == {"partition 2": "log_replaced: runlane adopt-log"}

    owner.pulse = Pulse(0, 0, False, {})
    assert owner.progress().faults() == {"owner": "no partition is assigned"}


def get(port: int, path: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.mark.parametrize(("faults", "status"), [({}, 200), ({"owner": "stuck"}, 503)])
def test_probes_answer_over_http(faults: dict[str, str], status: int) -> None:
    with ProbeServer(("127.0.0.1", 0), CollectorRegistry(), ready=lambda: faults) as server:
        ready = get(server.port, "/readyz?x=1")
        live = get(server.port, "/livez")
        other = get(server.port, "/other")

    assert (ready[0], json.loads(ready[1])) == (status, {"ok": not faults, "faults": faults})
    assert live[0] == 200
    assert other[0] == 404


def test_metrics_are_served_in_prometheus_format() -> None:
    registry = CollectorRegistry()
    Counter("runlane_blocks", "Blocks.", registry=registry).inc(3)

    with ProbeServer(("127.0.0.1", 0), registry, ready=dict) as server:
        status, body = get(server.port, "/metrics")

    assert status == 200
    assert b"runlane_blocks_total 3.0" in body


def test_the_port_is_free_again_afterwards() -> None:
    (port,) = free_ports(1)
    with ProbeServer(("127.0.0.1", port), CollectorRegistry(), ready=dict) as server:
        assert get(server.port, "/livez")[0] == 200
    with ProbeServer(("127.0.0.1", port), CollectorRegistry(), ready=dict) as again:
        assert again.port == port
