"""Callbacks for the library that do not keep their owner alive."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec
from weakref import WeakMethod

P = ParamSpec("P")


def weakly(method: Callable[P, None]) -> Callable[P, None]:
    """Return a call of a bound method, which does nothing once the method's owner is gone.

    The library's handle holds its callbacks. One that held the owner of the handle would be a cycle: threads
    and connections of a client that nobody uses any more would stay until garbage is collected.
    """
    reference = WeakMethod(method)

    def call(*arguments: P.args, **named: P.kwargs) -> None:
        alive = reference()
        if alive is not None:
            alive(*arguments, **named)

    return call
