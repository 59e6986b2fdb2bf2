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

Opening = Callable[[], AbstractContextManager[Backend]]


@dataclass(frozen=True)
class Choice:
    """A backend by name; `marks` such as `slow` go on every test that uses it."""

    name: str
    open: Opening
    marks: tuple[pytest.MarkDecorator, ...] = ()


CHOICES: tuple[Choice, ...] = (
    Choice("decide", lambda: contextlib.nullcontext(DecideBackend())),
    Choice("memory", open_memory),
)
