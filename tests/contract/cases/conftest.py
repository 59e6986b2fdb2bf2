"""The behaviour cases run once for each backend."""

from collections.abc import Iterator

import pytest

from tests.contract.cases.backend import Backend
from tests.contract.cases.backends import CHOICES, Choice
from tests.contract.cases.world import World


@pytest.fixture(params=[pytest.param(choice, id=choice.name, marks=choice.marks) for choice in CHOICES])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    choice: Choice = request.param
    with choice.open() as opened:
        yield opened


@pytest.fixture
def world(backend: Backend) -> World:
    """A backend with words for what the cases say; nothing exists in it yet."""
    return World(backend)
