"""A memory sink as a process of its own, of the real parts, that kills itself where it is told to."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from runlane.contract.topics import Topics
from runlane.kafka import GroupSettings, KafkaConfig
from runlane.owner.owner import SystemClock, SystemIds
from runlane.store.block import LogId
from runlane.store.engine import connect
from runlane.store.memory import KafkaMemoryLog, MemoryPorts, MemorySink, MemoryTable, SinkBounds

SESSION_MS, HEARTBEAT_MS = 1_500, 300


@dataclass(frozen=True, slots=True)
class Kill:
    """Kill the process before or after the ``nth`` call of a port that is about ``of`` ("" means any)."""

    call: str
    before: bool
    nth: int = 1
    of: str = ""


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """What a sink's process is told. With ``log`` it takes every partition, without it joins the group."""

    bootstrap: str
    topics: Topics
    dsn: str
    journal_id: str
    output: Path
    log: LogId | None = None
    kill: Kill | None = None


class Gate:
    """A port that counts the calls of one method and ends the process at one of them."""

    def __init__(self, port: object, kill: Kill | None) -> None:
        self._port = port
        self._kill = kill
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        found: Callable[..., Any] = getattr(self._port, name)
        kill = self._kill
        if kill is None or kill.call != name:
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            if kill.before:
                self._obey(kill, _subject(name, arguments, None))
            result = found(*arguments, **named)
            if not kill.before:
                self._obey(kill, _subject(name, arguments, result))
            return result

        return call

    def _obey(self, kill: Kill, subject: str) -> None:
        if kill.of in ("", subject):
            self._count += 1
            if self._count == kill.nth:
                os.kill(os.getpid(), signal.SIGKILL)


def _subject(name: str, arguments: tuple[Any, ...], result: Any) -> str:
    if name == "insert":
        return str(arguments[0].header.kind)
    return "messages" if result is not None and getattr(result, "messages", ()) else ""


def main(spec: SinkSpec, control: Connection) -> None:
    """Sink until told to stop, or until a kill."""
    file = os.open(spec.output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    pool = connect(spec.dsn)
    log = KafkaMemoryLog(
        KafkaConfig(spec.bootstrap, client_id=f"sink-{os.getpid()}"),
        topics=spec.topics,
        group=GroupSettings(f"{spec.topics.prefix}memory", SESSION_MS, HEARTBEAT_MS),
        log=spec.log,
    )
    table = MemoryTable(pool, spec.journal_id, max_execution=SinkBounds().max_execution)
    gated_log: Any = Gate(log, spec.kill)
    gated_table: Any = Gate(table, spec.kill)
    sink = MemorySink(MemoryPorts(gated_log, gated_table, SystemClock(), SystemIds()))
    threading.Thread(target=_until_told, args=(control, sink), daemon=True).start()
    try:
        sink.run()
    finally:
        log.close()
        pool.close()


def _until_told(control: Connection, sink: MemorySink) -> None:
    with contextlib.suppress(EOFError, OSError):
        control.recv()
    sink.stop()
