"""Runs one query at a time on the embedded engine, as a reader or, for tests, as a writer."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from runlane.store.endpoint.failures import (
    ABORTED,
    TOO_MANY_SIMULTANEOUS_QUERIES,
    UNKNOWN_FORMAT,
    from_engine,
    refusal,
)
from runlane.store.endpoint.guard import check_query, check_settings
from runlane.store.endpoint.sql import Statement, output_format, parse, without_format

MIB: Final = 1024 * 1024
_NO_BYTES: Final = frozenset({"arrowtable", "dataframe", "datastore"})
"""What the engine's driver takes for the name of a Python object."""
_VARINT: Final = 128
_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may use. ``wait`` is how long, in seconds, it may wait for the one before it.

    ``memory`` covers its result too, which is sent only when it is complete.
    """

    memory: int = 512 * MIB
    seconds: float = 30.0
    wait: float = 30.0


@dataclass(frozen=True, slots=True)
class Query:
    """A request's query: ``raw`` is its text with an INSERT's data behind it, ``params`` are TSV-escaped."""

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

    ``connection`` is the engine's connection string. Each query gets a handle of its own: settings
    can't leak, nor can the rest of a failed result, which the engine hands to the next query of that handle.
    """

    def __init__(self, connection: str, limits: Limits, *, writable: bool) -> None:
        # Two packages bring a module of this name, typed or not: which one stays is the installer's choice.
        self._connect: Callable[[str], Any] = import_module("chdb").connect
        self._connection = connection
        self._limits = limits
        self._writable = writable
        self._turn = threading.Lock()
        self._closed = False
        # The engine closes with its last handle; this one keeps it open.
        self._keeper: Any = self._connect(connection)
        self.version, self.timezone = self._lines("SELECT version(), timezone()")[0].split("\t")
        settings = self._lines("SELECT name, type FROM system.settings")
        self._types: Mapping[str, str] = dict(line.split("\t", 1) for line in settings)

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
    def _handle(self) -> Generator[Any, None, None]:
        if not self._turn.acquire(timeout=self._limits.wait):
            name = "TOO_MANY_SIMULTANEOUS_QUERIES"
            message = "The endpoint runs one query at a time and is busy"
            raise refusal(TOO_MANY_SIMULTANEOUS_QUERIES, name, message)
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
        if query.format.lower() in _NO_BYTES:
            raise refusal(UNKNOWN_FORMAT, "UNKNOWN_FORMAT", f"Unknown format {query.format}")
        if query.database:
            handle.query(f"USE {_quoted(query.database, '`')}", "TSV")
        self._apply(handle, query.settings)
        statement = parse(query.raw)
        if statement.data_format:
            return _insert(handle, statement)
        params = dict(query.params)
        result = handle.query(statement.text, query.format, params=params)
        body: bytes = result.bytes() or b""
        summary = {
            "read_rows": result.storage_rows_read(),
            "read_bytes": result.storage_bytes_read(),
            "written_rows": result.rows_written(),
            "written_bytes": result.bytes_written(),
            "result_rows": result.rows_read(),
            "result_bytes": len(body),
            "elapsed_ns": int(result.elapsed() * _NANOSECONDS),
        }
        if not statement.gives_rows:
            return Answer(body, "", summary)
        shape = output_format(statement.text, query.format)
        if not body and shape == "Native":
            body = _header_block(handle, statement.text, params)
        return Answer(body, shape, summary)

    def _apply(self, handle: Any, settings: Mapping[str, str]) -> None:
        """Set the client's settings, then the caps, then ``readonly``, so that none of them can be lifted.

        It is one statement: the last assignment of a name counts, ``readonly`` forbids only what follows it.
        """
        asked = {name: value for name, value in settings.items() if name != "readonly" or self._writable}
        seconds = _stricter(asked.get("max_execution_time"), self._limits.seconds)
        forced = [
            ("max_threads", "1"),
            ("max_memory_usage", str(self._limits.memory)),
            ("max_execution_time", str(seconds)),
            ("timeout_overflow_mode", "throw"),
        ]
        if not self._writable:
            forced.append(("readonly", "1"))
        both = [*asked.items(), *forced]
        handle.query(
            "SET " + ", ".join(f"{_quoted(name, '`')} = {_quoted(value)}" for name, value in both), "TSV"
        )

    def _lines(self, sql: str) -> list[str]:
        text: str = self._keeper.query(sql, "TSV").bytes().decode()
        return text.splitlines()


def _insert(handle: Any, statement: Statement) -> Answer:
    """Give an INSERT its data as a file, the one way in on which the engine reports every fault."""
    with tempfile.NamedTemporaryFile(suffix=".data") as file:
        file.write(statement.data)
        file.flush()
        source = f" FROM INFILE {_quoted(file.name)} ".encode()
        shape = f" FORMAT {statement.data_format}".encode()
        result = handle.query(statement.text + source + statement.settings + shape, "TSV")
    rows, size = int(result.rows_written()), int(result.bytes_written())
    summary = {
        "read_rows": rows,
        "read_bytes": size,
        "written_rows": rows,
        "written_bytes": size,
        "result_rows": rows,
        "result_bytes": size,
        "elapsed_ns": int(result.elapsed() * _NANOSECONDS),
    }
    return Answer(b"", "", summary)


def _header_block(handle: Any, text: bytes, params: Mapping[str, str]) -> bytes:
    """Return the Native block without rows that a server sends for an empty result, the engine does not."""
    answer = handle.query(without_format(text), "JSON", params=dict(params))
    meta: list[dict[str, str]] = json.loads(answer.bytes())["meta"]
    names = (part.encode() for column in meta for part in (column["name"], column["type"]))
    return _varint(len(meta)) + _varint(0) + b"".join(_varint(len(name)) + name for name in names)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= _VARINT:
        out.append(number % _VARINT + _VARINT)
        number //= _VARINT
    out.append(number)
    return bytes(out)


def _stricter(asked: str | None, cap: float) -> float:
    try:
        wanted = float(asked or 0)
    except ValueError:
        return cap
    return wanted if 0 < wanted < cap else cap


def _quoted(text: str, mark: str = "'") -> str:
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark
