"""Copies of what a caller may still change: a command never changes after the call (contract 1.1; C068)."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from runlane.contract.commands import (
    Command,
    StartChildRun,
    StartOneShotChildRun,
    StartOneShotRun,
    StartRootRun,
)


def own(command: Command) -> Command:
    """Return the command with labels of its own; everything else of it cannot be changed."""
    if isinstance(command, StartRootRun | StartChildRun | StartOneShotRun | StartOneShotChildRun):
        labels = MappingProxyType(dict(command.run.labels))
        return replace(command, run=replace(command.run, labels=labels))
    return command
