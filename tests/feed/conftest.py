from collections.abc import Iterator

import pytest

from tests.e2e.stack import ClickHouse


@pytest.fixture(scope="module")
def clickhouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouse]:
    """A writable endpoint in a process of its own."""
    with ClickHouse(tmp_path_factory.mktemp("clickhouse")) as running:
        yield running
