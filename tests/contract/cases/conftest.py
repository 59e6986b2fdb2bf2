"""The behaviour cases run once for each backend."""

from collections.abc import Iterator

import pytest

from tests.contract.cases.backend import Backend
from tests.contract.cases.backends import CHOICES, Choice
from tests.contract.cases.world import World
from tests.e2e import cases_backend


@pytest.fixture(scope="session")
def running_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cases_backend.RunningStack]:
    """One embedded stack for all the cases."""
    with cases_backend.running_stack(tmp_path_factory.mktemp("stack")) as running:
        yield running


@pytest.fixture(params=[pytest.param(choice, id=choice.name, marks=choice.marks) for choice in CHOICES])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    choice: Choice = request.param
    with choice.open(request) as opened:
        yield opened


@pytest.fixture
def world(backend: Backend) -> World:
    """A backend with words for what the cases say; nothing exists in it yet."""
    return World(backend)
