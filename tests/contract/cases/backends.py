"""The implementations that every behaviour case runs on; add a line for each further one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest

from tests.client.cases_backend import open_memory
from tests.contract.cases.backend import Backend
from tests.contract.cases.decide_backend import DecideBackend
from tests.e2e.cases_backend import StackBackend
from tests.store.cases_backend import open_journal

Opening = Callable[[pytest.FixtureRequest], AbstractContextManager[Backend]]


@dataclass(frozen=True)
class Choice:
    """A backend by name, opened for a test; `marks` such as `slow` go on every test that uses it."""

    name: str
    open: Opening
    marks: tuple[pytest.MarkDecorator, ...] = ()


def _open_stack(request: pytest.FixtureRequest) -> AbstractContextManager[Backend]:
    return contextlib.nullcontext(StackBackend(request.getfixturevalue("running_stack")))


CHOICES: tuple[Choice, ...] = (
    Choice("decide", lambda _: contextlib.nullcontext(DecideBackend())),
    Choice("memory", lambda _: open_memory()),
    Choice("journal", lambda _: open_journal(), (pytest.mark.slow,)),
    Choice("stack", _open_stack, (pytest.mark.slow,)),
)
