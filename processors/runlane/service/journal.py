"""Where the journal of a command is: the settings say so, or the folder of an embedded stack."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import click
import httpx2
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from runlane.client import Connection
from runlane.service.embedded.folder import CONNECTION_FILE, ENGINE_FOLDER
from runlane.service.settings import Settings
from runlane.store.engine import ClientPool, connect, database_error

_USER = "default"
_DATABASE = "default"
_PING_SECONDS = 2.0

data_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of an embedded stack (`runlane up --data`), running or not.",
)


def journal_dsn(settings: Settings, data: Path | None) -> str:
    """Return where the journal is.

    With ``data`` it is the running stack's endpoint, and without a running stack the folder itself. Else it
    is what `RUNLANE_CLICKHOUSE` says; ``SettingsError`` when that is not set.
    """
    if data is None:
        settings.need("clickhouse")
        return settings.clickhouse.get_secret_value()
    file = data / CONNECTION_FILE
    if file.exists():
        running = Connection.load(file)
        if running.clickhouse and _answers(running):
            return endpoint_dsn(running)
    return f"chdb://{(data / ENGINE_FOLDER).absolute()}"


def endpoint_dsn(connection: Connection) -> str:
    """Return the address of a running stack's ClickHouse endpoint with user and password."""
    scheme, authority, *_ = urlsplit(connection.clickhouse)
    return f"{scheme}://{_USER}:{quote(connection.clickhouse_password, safe='')}@{authority}/{_DATABASE}"


def _answers(connection: Connection) -> bool:
    try:
        return httpx2.get(f"{connection.clickhouse}/ping", timeout=_PING_SECONDS).is_success
    except httpx2.HTTPError:
        return False


@contextmanager
def open_pool(settings: Settings, data: Path | None) -> Generator[ClientPool]:
    """Yield clients of the journal; ``Unavailable`` when it does not answer."""
    pool = connect(journal_dsn(settings, data))
    try:
        yield pool
    finally:
        pool.close()


@contextmanager
def open_journal(settings: Settings, data: Path | None) -> Generator[Client]:
    """Yield one client of the journal; ``Unavailable`` or ``JournalFault``, now or while it is used."""
    with open_pool(settings, data) as pool:
        try:
            with pool.client() as client:
                yield client
        except (ClickHouseError, OSError) as error:
            raise database_error(error) from None
