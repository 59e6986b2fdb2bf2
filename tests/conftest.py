"""Fixtures of every area, and the rules that hold for every test."""

import contextlib
import os
from collections.abc import Generator, Iterator

import pytest

from tests.harness.kafka import Kafka, KafkaBroker
from tests.harness.kafka_libs import KafkaUnavailable

BROKER_FIXTURES = {"kafka_broker", "own_kafka_broker"}


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
    """Mark users of a broker as `kafka`; keep all heavy tests in one worker, one after the other."""
    for item in items:
        fixtures: tuple[str, ...] = getattr(item, "fixturenames", ())
        if BROKER_FIXTURES.intersection(fixtures):
            item.add_marker("kafka")
        if item.get_closest_marker("kafka") or item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.xdist_group("heavy"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a real broker is promised (`RUNLANE_REQUIRE_KAFKA`), a skipped kafka test is a failed one."""
    report = yield
    required = os.environ.get("RUNLANE_REQUIRE_KAFKA") == "1"
    if required and report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker("kafka"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but RUNLANE_REQUIRE_KAFKA=1: {_reason(report.longrepr)}"
    return report


def _reason(longrepr: object) -> str:
    match longrepr:
        case (str(), int(), str(reason)):
            return reason
        case other:
            return str(other)
