"""Endpoints: one in this process for readers, one in a process of its own that plays a server for writers."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runlane.store import ClientPool, connect, connection_string
from runlane.store.endpoint import Endpoint, EndpointConfig, Limits
from tests.store.endpoint.served import PASSWORD, Served


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the one engine that this process may have open."""
    return tmp_path_factory.mktemp("engine")


@pytest.fixture(scope="module")
def served(path: Path) -> Iterator[Served]:
    """A read-only endpoint over an engine that this process has open too, with three rows in table `t`."""
    engine = connect(f"chdb://{path}")
    engine.command("CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree ORDER BY a")
    engine.command("INSERT INTO t VALUES (1, 'x'), (2, 'tab\\t'), (3, 'ü')")
    limits = Limits(memory=256 * 1024 * 1024, seconds=60, wait=60)
    with Endpoint(connection_string(str(path)), EndpointConfig(PASSWORD, limits=limits)) as endpoint:
        yield Served(endpoint.url, engine)
    engine.close()


@pytest.fixture
def engine(served: Served) -> ClientPool:
    """The engine behind the read-only endpoint, for whoever owns it."""
    assert served.engine is not None
    return served.engine


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A writable endpoint: `python -m runlane.store.endpoint`."""
    path = tmp_path_factory.mktemp("server")
    command = [sys.executable, "-m", "runlane.store.endpoint", "--path", str(path), "--password", PASSWORD]
    with subprocess.Popen([*command, "--writable"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Served(process.stdout.readline().strip(), None)
        process.terminate()
