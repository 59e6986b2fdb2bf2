"""Fixtures of every area, and the rules that hold for every test."""

import contextlib
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.harness.kafka import Kafka, KafkaBroker
from tests.harness.kafka_libs import KafkaUnavailable

BROKER_FIXTURES = {"kafka_broker", "own_kafka_broker"}
PAGE_TESTS = Path(__file__).parent / "page"

# How long an example takes says more about the machine than about the code.
settings.register_profile("runlane", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("runlane")


@pytest.fixture(scope="session")
def own_kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A real broker that tests may stop, kill and freeze, and leave running; one a session."""
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    try:
        broker.start()
    except KafkaUnavailable as missing:
        pytest.skip(str(missing))
    with contextlib.ExitStack() as ending:
        ending.push(broker)
        yield broker


@pytest.fixture(scope="session")
def kafka_broker(request: pytest.FixtureRequest) -> Kafka:
    """The real broker named by `RUNLANE_KAFKA`, else the session's own one."""
    named = os.environ.get("RUNLANE_KAFKA")
    if named:
        return Kafka(named)
    own: KafkaBroker = request.getfixturevalue("own_kafka_broker")
    return own


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark users of a broker as ``kafka``, what runs once more over a database server as ``slow``.

    What is long is slow too, and comes first, so that no worker is left alone with it at the end.
    """
    for item in items:
        fixtures: tuple[str, ...] = getattr(item, "fixturenames", ())
        if BROKER_FIXTURES.intersection(fixtures):
            item.add_marker("kafka")
        call: Any = getattr(item, "callspec", None)
        if call is not None and "server" in call.params.values():
            item.add_marker("slow")
        if item.get_closest_marker("long"):
            item.add_marker("slow")
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a real broker or a browser is promised (``RUNLANE_REQUIRE_…=1``), a skip for want of it fails."""
    report = yield
    promise = _promise(item)
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get(promise) == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped, but {promise}=1: {_reason(report.longrepr)}"
    return report


def _promise(item: pytest.Item) -> str:
    """Return the variable that promises what a test may lack; the page's need Chromium and npm packages."""
    if item.get_closest_marker("kafka"):
        return "RUNLANE_REQUIRE_KAFKA"
    return "RUNLANE_REQUIRE_BROWSER" if PAGE_TESTS in item.path.parents else ""


def _reason(longrepr: object) -> str:
    match longrepr:
        case (str(), int(), str(reason)):
            return reason
        case other:
            return str(other)
