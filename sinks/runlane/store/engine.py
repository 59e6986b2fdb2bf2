"""Connections to ClickHouse, a server or the embedded engine of this process, behind a small pool."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlencode, urlsplit

from runlane.contract.errors import JournalFault, RunlaneError, Unavailable

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_MIB: Final = 1024 * 1024
_ENGINE_OPTIONS: Final = {
    "mark_cache_size": 64 * _MIB,
    "index_mark_cache_size": 16 * _MIB,
    "primary_index_cache_size": 64 * _MIB,
    "query_condition_cache_size": 8 * _MIB,
    "compiled_expression_cache_size": 16 * _MIB,
}
"""The embedded engine's caches hold up to 5 GB each unless they are capped."""
_EMBEDDED_SETTINGS: Final = {"max_memory_usage": 2048 * _MIB}
"""What one query of ours may use; it shares the machine with everything else of the stack."""
_PASSING: Final = frozenset({159, 160, 202, 209, 210, 236, 241, 242, 243, 252, 319, 373, 394, 425, 439, 745})
"""Codes of a database that is busy, short of memory, ending or cut off: the same query may work later."""
EMBEDDED: Final = "chdb"

Parameters = Mapping[str, Any]
Rows = Sequence[Sequence[Any]]


def connection_string(path: str) -> str:
    """Return the embedded engine's connection string of a directory, one for all users of this process."""
    return f"{os.path.realpath(path)}?{urlencode(_ENGINE_OPTIONS)}"


def connect(dsn: str, *, timeout: float = 30.0) -> ClientPool:
    """Open ``chdb:///directory``, or ``http(s)://user:password@host:port/database``.

    ``timeout`` bounds, in seconds, how long a server may take to answer. Raises ``Unavailable`` when the
    database does not answer, or the directory is another process's, and ``ValueError`` for another scheme.
    """
    if urlsplit(dsn).scheme not in (EMBEDDED, "http", "https"):
        raise ValueError("a database is named by a chdb:///, http:// or https:// address")
    pool = ClientPool(dsn, timeout)
    with pool.client():
        return pool


class ClientPool:
    """Clients of one database, each used by one thread at a time; more are opened as threads need them.

    A client that failed is not used again: the embedded engine hands what is left of a failed result to the
    next query of its connection.
    """

    def __init__(self, dsn: str, timeout: float) -> None:
        self._dsn = dsn
        self._timeout = timeout
        self._idle: list[Client] = []
        self._lock = threading.Lock()
        self._closed = False

    @property
    def embedded(self) -> bool:
        """Whether the database is the engine in this process."""
        return urlsplit(self._dsn).scheme == EMBEDDED

    @contextmanager
    def client(self) -> Generator[Client]:
        """Lend a client to this thread; raises ``Unavailable`` when none can be opened."""
        with self._lock:
            if self._closed:
                raise Unavailable("the database connection is closed")
            client = self._idle.pop() if self._idle else None
        client = client or self._open()
        try:
            yield client
        except BaseException:
            client.close()
            raise
        self._put_back(client)

    def query(
        self,
        sql: str,
        parameters: Parameters | None = None,
        *,
        raw: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> Rows:
        """Return the rows of a query; the String columns named in ``raw`` come as bytes.

        ``settings`` are hints: those that the server lets nobody set, as a read-only one does, are left out.
        Raises ``Unavailable`` when the database does not answer, ``JournalFault`` when it refuses the query.
        """
        formats: dict[str, str | dict[str, str]] = dict.fromkeys(raw, "bytes")
        with _mapped(), self.client() as client:
            hints = _settable(client, settings)
            result = client.query(  # pyright: ignore[reportUnknownMemberType]
                sql, dict(parameters or {}), settings=hints, column_formats=formats or None
            )
            return result.result_rows

    def command(
        self, sql: str, parameters: Parameters | None = None, *, settings: Mapping[str, Any] | None = None
    ) -> None:
        """Run a statement that gives no rows; raises what ``query`` raises."""
        with _mapped(), self.client() as client:
            client.command(  # pyright: ignore[reportUnknownMemberType]
                sql, dict(parameters or {}), settings=dict(settings or {})
            )

    def close(self) -> None:
        """Close the idle clients now, and those in use when they are given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for client in idle:
            client.close()

    def _put_back(self, client: Client) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(client)
                return
        client.close()

    def _open(self) -> Client:
        import clickhouse_connect

        # The driver logs what it could not send, and a payload must never land in a log.
        logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL + 1)
        with _mapped():
            if self.embedded:
                path = unquote(urlsplit(self._dsn).path)
                return clickhouse_connect.get_client(  # pyright: ignore[reportUnknownMemberType]
                    interface=EMBEDDED, path=path, chdb_options=_ENGINE_OPTIONS, settings=_EMBEDDED_SETTINGS
                )
            return clickhouse_connect.get_client(  # pyright: ignore[reportUnknownMemberType]
                dsn=self._dsn,
                autogenerate_session_id=False,
                connect_timeout=min(self._timeout, 10),
                send_receive_timeout=self._timeout,
                show_clickhouse_errors="scrub",
                query_retries=0,
            )


def _settable(client: Client, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    known = client.server_settings
    return {
        name: value
        for name, value in (settings or {}).items()
        if name not in known or not int(known[name].readonly)
    }


@contextmanager
def _mapped() -> Generator[None]:
    from clickhouse_connect.driver.exceptions import ClickHouseError

    try:
        yield
    except RunlaneError:
        raise
    except (ClickHouseError, OSError) as error:
        raise database_error(error) from None


def database_error(error: Exception) -> RunlaneError:
    """Return what an error of the driver means: ``Unavailable`` for what may pass, else ``JournalFault``."""
    from clickhouse_connect.driver.exceptions import OperationalError

    code = error_code(error)
    name = getattr(error, "name", None) or type(error).__name__
    locked = code is None and "Unable to open the chdb engine" in str(error)
    if code in _PASSING or locked or (code is None and isinstance(error, OperationalError | OSError)):
        reason = (
            "the directory can't be opened, perhaps since another process uses it"
            if locked
            else f"{name}, code {code}"
        )
        return Unavailable(f"the database does not answer ({reason})")
    return JournalFault(f"the database refuses a query ({name}, code {code})")


def error_code(error: Exception) -> int | None:
    """Return the ClickHouse code of a driver's error, or None for one that no database answered."""
    code = getattr(error, "code", None)
    return code if isinstance(code, int) else None
