"""`tail`: what a run or a session did and does, over the read API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import click

from runlane.client import Api, Connection, Followed, HttpFollower, HttpReader, PagedFollower
from runlane.contract.values import CommittedRecord
from runlane.service.cli.output import json_option, plain, print_json
from runlane.service.embedded.folder import CONNECTION_FILE
from runlane.service.journal import data_option
from runlane.service.settings import Settings, load_settings

_SHOWN: Final = 100
_COLOURS: Final = {
    "run_started": "green",
    "run_completed": "green",
    "run_suspended": "yellow",
    "runtime.cancellation_intent": "red",
    "child_run_linked": "cyan",
}


@click.command("tail")
@click.argument("run_id", required=False)
@click.option("--session", "session_id", help="All runs of a session instead of one run.")
@click.option("--once", is_flag=True, help="Print what is there and leave, without waiting for more.")
@data_option
@json_option
def tail_command(
    *, run_id: str | None, session_id: str | None, once: bool, data: Path | None, as_json: bool
) -> None:
    """Print the records of a run or a session, oldest first, as they are committed, until it has ended.

    Stored text cannot steer the terminal: control characters are shown as they are written in JSON.
    """
    if bool(run_id) == bool(session_id):
        raise click.UsageError("give a run id, or --session with a session id")
    followed = Followed.of(run=run_id or "", session=session_id or "")
    asyncio.run(_print_all(lambda: api_of(load_settings(), data), followed, once=once, as_json=as_json))


def api_of(settings: Settings, data: Path | None) -> Api:
    """Return where to read: the stack in ``data``, else `RUNLANE_API`. ``Unavailable``, ``SettingsError``."""
    if data is not None:
        running = Connection.load(data / CONNECTION_FILE)
        return Api(running.api, running.tokens.worker)
    settings.need("api")
    return Api(settings.api, settings.token.get_secret_value())


async def _print_all(api: Callable[[], Api], followed: Followed, *, once: bool, as_json: bool) -> None:
    reader = HttpReader(api)
    records = PagedFollower(reader).stored(followed) if once else HttpFollower(api, reader).follow(followed)
    try:
        async with aclosing(records):
            async for record in records:
                if as_json:
                    print_json(record_json(record))
                else:
                    click.echo(record_line(record))
    finally:
        await reader.aclose()


def record_json(record: CommittedRecord) -> dict[str, Any]:
    """Return a record for programs; the payload is its exact text."""
    return {
        "run_id": record.run_id,
        "seq": record.seq,
        "lane_seq": record.lane_seq,
        "session_id": record.session_id,
        "agent_id": record.agent_id,
        "turn_id": record.turn_id,
        "event_key": record.event_key,
        "type": record.type,
        "timestamp": record.timestamp.isoformat(),
        "committed_at": record.committed_at.isoformat(),
        "payload": record.payload.decode(),
    }


def record_line(record: CommittedRecord) -> str:
    """Return a record for people: one line, its payload cut."""
    payload = plain(record.payload.decode())
    shown = payload if len(payload) <= _SHOWN else f"{payload[: _SHOWN - 1]}…"
    kind = click.style(f"{plain(record.type):<28}", fg=_COLOURS.get(record.type))
    time = record.timestamp.strftime("%H:%M:%S.%f")[:-3]
    return f"{time} {plain(record.run_id)} {record.seq:>4} {kind} {shown}"
