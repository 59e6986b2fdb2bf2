"""Runs one query at a time on the embedded engine, as a reader or, for tests, as a writer."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from runlane.store.endpoint.failures import ABORTED, TOO_MANY_SIMULTANEOUS_QUERIES, from_engine, refusal
from runlane.store.endpoint.guard import check_query, check_settings
from runlane.store.endpoint.sql import output_format, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB: Final = 1024 * 1024
_CHUNK: Final = MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may use. ``wait`` is how long, in seconds, it may wait for the one before it."""

    memory: int = 1024 * MIB
    seconds: float = 30.0
    result: int = 256 * MIB
    wait: float = 30.0


@dataclass(frozen=True, slots=True)
class Query:
    """A request's query: ``raw`` is its text with an INSERT's data behind it, ``params`` are TSV-escaped values."""

    raw: bytes
    database: str
    format: str
    params: Mapping[str, str]
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """A query's result; ``format`` is empty for a statement that gives none."""

    body: bytes
    format: str
    summary: Mapping[str, int]


class Engine:
    """The embedded engine of this process, shared with the clients that opened the same path.

    ``connection`` is the engine's connection string. Each query gets a handle of its own: settings can't leak, and
    neither can the rest of a failed result, which the engine hands to the next query of the same handle.
    """

    def __init__(self, connection: str, limits: Limits, *, writable: bool) -> None:
        import chdb

        self._connect = chdb.connect
        self._connection = connection
        self._limits = limits
        self._writable = writable
        self._turn = threading.Lock()
        self._closed = False
        # The engine closes with its last handle; this one keeps it open.
        self._keeper = self._connect(connection)
        self.version, self.timezone = self._text("SELECT version(), timezone()").split("\t")
        names = self._text("SELECT name, type FROM system.settings")
        self._types: dict[str, str] = dict(line.split("\t", 1) for line in names.split("\n"))

    def close(self) -> None:
        """Let the engine go, once the running query has ended."""
        with self._turn:
            self._closed = True
            self._keeper.close()

    def run(self, query: Query) -> Answer:
        """Run a query and return its whole result; raises ``QueryFailed``."""
        if not self._writable:
            check_query(query.raw.decode("utf-8", "replace"))
            check_settings(query.settings, self._types)
        with self._handle() as handle:
            try:
                return self._answer(handle, query)
            except RuntimeError as error:
                raise from_engine(str(error), self.version) from None

    @contextmanager
    def _handle(self) -> Iterator[Any]:
        if not self._turn.acquire(timeout=self._limits.wait):
            raise refusal(
                TOO_MANY_SIMULTANEOUS_QUERIES,
                "TOO_MANY_SIMULTANEOUS_QUERIES",
                "The endpoint runs one query at a time and is busy",
            )
        try:
            if self._closed:
                raise refusal(ABORTED, "ABORTED", "The endpoint is shutting down")
            handle = self._connect(self._connection)
            try:
                yield handle
            finally:
                handle.close()
        finally:
            self._turn.release()

    def _answer(self, handle: Any, query: Query) -> Answer:
        if query.database:
            handle.query(f"USE {_quoted(query.database, '`')}", "TSV")
        self._apply(handle, query.settings)
        statement = parse(query.raw)
        if statement.data_format:
            return _insert(handle, statement.text.decode("utf-8", "replace"), statement.data_format, statement.data)
        result = handle.query(statement.text, query.format, params=dict(query.params))
        body: bytes = result.bytes() or b""
        summary = {
            "read_rows": result.storage_rows_read(),
            "read_bytes": result.storage_bytes_read(),
            "written_rows": result.rows_written(),
            "written_bytes": result.bytes_written(),
            "result_rows": result.rows_read(),
            "result_bytes": len(body),
            "elapsed_ns": int(result.elapsed() * 1e9),
        }
        if not statement.gives_rows:
            return Answer(body, "", summary)
        shape = output_format(statement.text.decode("utf-8", "replace"), query.format)
        if not body and shape == "Native":
            body = _header_block(handle, statement.text, query.params)
        return Answer(body, shape, summary)

    def _apply(self, handle: Any, settings: Mapping[str, str]) -> None:
        """Set the client's settings, then the caps, then ``readonly``, so that none of them can be lifted.

        It is one statement: the last assignment of a name counts, and ``readonly`` forbids only what follows it.
        """
        limits = self._limits
        asked = {name: value for name, value in settings.items() if name != "readonly" or self._writable}
        forced: dict[str, str] = {
            "max_threads": "1",
            "max_memory_usage": str(limits.memory),
            "max_execution_time": str(_stricter(asked.get("max_execution_time"), limits.seconds)),
            "timeout_overflow_mode": "throw",
            "max_result_bytes": str(limits.result),
            "result_overflow_mode": "throw",
        }
        if not self._writable:
            forced["readonly"] = "1"
        handle.query(f"SET {', '.join(filter(None, (_assignments(asked), _assignments(forced))))}", "TSV")

    def _text(self, sql: str) -> str:
        text: str = self._keeper.query(sql, "TSV").bytes().decode()
        return text.rstrip("\n")


def _insert(handle: Any, text: str, data_format: str, data: bytes) -> Answer:
    inserter = handle.send_insert(text, data_format)
    try:
        for start in range(0, len(data), _CHUNK):
            inserter.append(data[start : start + _CHUNK])
        result = inserter.finish()
    except RuntimeError:
        inserter.cancel()
        raise
    summary = {
        "read_rows": result.rows_written,
        "read_bytes": result.bytes_written,
        "written_rows": result.rows_written,
        "written_bytes": result.bytes_written,
        "result_rows": result.rows_written,
        "result_bytes": result.bytes_written,
        "elapsed_ns": int(result.elapsed * 1e9),
    }
    return Answer(b"", "", summary)


def _header_block(handle: Any, text: bytes, params: Mapping[str, str]) -> bytes:
    """Return the Native block without rows that a server sends for an empty result, and the engine does not."""
    plain = text.decode().rstrip().rstrip(";")
    asked = output_format(plain, "")
    if asked:
        plain = plain[: plain.upper().rindex("FORMAT")]
    meta: list[dict[str, str]] = json.loads(handle.query(plain, "JSON", params=dict(params)).bytes())["meta"]
    names = (part.encode() for column in meta for part in (column["name"], column["type"]))
    return _varint(len(meta)) + _varint(0) + b"".join(_varint(len(name)) + name for name in names)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _stricter(asked: str | None, cap: float) -> float:
    try:
        wanted = float(asked or 0)
    except ValueError:
        return cap
    return wanted if 0 < wanted < cap else cap


def _assignments(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{_quoted(name, '`')} = {_quoted(value, chr(39))}" for name, value in settings.items())


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark
