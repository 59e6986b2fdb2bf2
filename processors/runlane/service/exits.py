"""What the process tells its starter."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command; docs/cli.md lists them."""

    OK = 0
    FAULTS = 1
    """`verify` found faults, or a command was refused."""
    USAGE = 2
    """The command line is wrong; click's own code."""
    SETTINGS = 3
    """A setting is missing or wrong."""
    UNAVAILABLE = 4
    """Broker, ClickHouse or read API does not answer; starting again may help."""
    STOPPED = 5
    """A typed stop: an operator has to answer it, starting again does not help."""
    INTERRUPTED = 130
    """Ctrl-C."""
    INTERNAL = 70
    """A fault in Runlane itself."""
