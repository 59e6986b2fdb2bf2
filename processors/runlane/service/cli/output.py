"""What commands print: results on stdout, as text or as JSON; everything else goes to stderr."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MAX_CELL: Final = 60

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def plain(text: str) -> str:
    """Return stored text without what could steer a terminal: control and direction characters are shown."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: Any) -> None:
    """Print one JSON value on one line."""
    click.echo(json.dumps(value, ensure_ascii=False, default=str))


def print_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print rows as an aligned table, long cells cut."""
    cells = [[_cell(row.get(column, "")) for column in columns] for row in rows]
    widths = [max([len(column), *(len(line[at]) for line in cells)]) for at, column in enumerate(columns)]
    for line in [[column.upper() for column in columns], *cells]:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def note(text: str) -> None:
    """Say something to the person at the terminal, on stderr."""
    click.echo(text, err=True)


def _cell(value: Any) -> str:
    text = plain(str(value))
    return text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 1]}…"
