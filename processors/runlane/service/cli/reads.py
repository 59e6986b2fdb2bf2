"""`tail`: what a run or a session did and does, over the read API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from runlane.client import Api, Connection, HttpReader
from runlane.contract.reader import Reader
from runlane.contract.values import CommittedRecord, Page, SessionStatus
from runlane.service.cli.output import json_option, plain, print_json
from runlane.service.embedded.folder import CONNECTION_FILE
from runlane.service.journal import data_option
from runlane.service.settings import Settings, load_settings

_PAGE: Final = 500
_POLL_SECONDS: Final = 0.5
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
    """Print the records of a run or a session, oldest first, until it has ended.

    Stored text cannot steer the terminal: control characters are shown as they are written in JSON.
    """
    if (run_id is None) == (session_id is None):
        raise click.UsageError("give a run id, or --session with a session id")
    reader = HttpReader(lambda: api_of(load_settings(), data))
    history = RunHistory(reader, run_id) if run_id is not None else SessionHistory(reader, session_id or "")
    asyncio.run(_print_all(reader, history, once=once, as_json=as_json))


def api_of(settings: Settings, data: Path | None) -> Api:
    """Return where to read: the stack in ``data``, else `RUNLANE_API`. ``Unavailable``, ``SettingsError``."""
    if data is not None:
        running = Connection.load(data / CONNECTION_FILE)
        return Api(running.api, running.tokens.worker)
    settings.need("api")
    return Api(settings.api, settings.token.get_secret_value())


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The records of one run."""

    reader: Reader
    run_id: str

    async def page(self, cursor: str) -> Page:
        """Return the records after ``cursor``."""
        return await self.reader.list_run_records(self.run_id, cursor, _PAGE)

    async def ended(self) -> bool:
        """Whether no record can follow."""
        return (await self.reader.load_run(self.run_id)).status.terminal

    def cursor_of(self, record: CommittedRecord) -> str:
        """Return the cursor behind ``record``."""
        return record.id


@dataclass(frozen=True, slots=True)
class SessionHistory:
    """The records of all runs of a session."""

    reader: Reader
    session_id: str

    async def page(self, cursor: str) -> Page:
        """Return the records after ``cursor``."""
        return await self.reader.list_session_run_records(self.session_id, cursor, _PAGE)

    async def ended(self) -> bool:
        """Whether no record can follow: the session has ended and none of its runs is running."""
        status = await self.reader.load_session_status(self.session_id)
        if status is not SessionStatus.ENDED:
            return False
        runs = await self.reader.list_runs_by_session(self.session_id)
        return all(run.status.terminal for run in runs)

    def cursor_of(self, record: CommittedRecord) -> str:
        """Return the cursor behind ``record``."""
        return str(record.lane_seq)


async def follow(
    history: RunHistory | SessionHistory,
    *,
    once: bool,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[CommittedRecord]:
    """Yield all records of ``history``, and those that come, until none can follow."""
    cursor = ""
    while True:
        # Asked before the page is read: what was committed before the end is in that page or a later one.
        ended = once or await history.ended()
        page = await history.page(cursor)
        for record in page.records:
            yield record
            cursor = history.cursor_of(record)
        if page.next_cursor:
            continue
        if ended:
            return
        await pause(_POLL_SECONDS)


async def _print_all(
    reader: HttpReader, history: RunHistory | SessionHistory, *, once: bool, as_json: bool
) -> None:
    try:
        async for record in follow(history, once=once):
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
