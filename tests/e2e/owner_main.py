"""An owner as a process of its own, composed of the real parts behind gates."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# Imported before the fork: the driver takes its time to, the second one with the first insert.
import clickhouse_connect  # noqa: F401
import pandas as pd  # noqa: F401

from runlane.contract.topics import Topics
from runlane.kafka import GroupSettings, KafkaConfig
from runlane.owner.config import OwnerConfig
from runlane.owner.journal_store import JournalStore
from runlane.owner.kafka_log import KafkaLog
from runlane.owner.owner import Owner, SystemClock, SystemIds
from runlane.owner.ports import Ports
from runlane.store.block import LogId
from runlane.store.engine import connect
from tests.e2e.gates import Gate, Rule

GROUP_SESSION_MS = 6_000
GROUP_HEARTBEAT_MS = 300


@dataclass(frozen=True, slots=True)
class OwnerSpec:
    """What an owner's process is told. With ``log`` it takes every partition, without it joins the group."""

    bootstrap: str
    topics: Topics
    dsn: str
    journal_id: str
    config: OwnerConfig
    output: Path
    log: LogId | None = None
    rules: tuple[Rule, ...] = ()
    store_seconds: float = 30.0


def main(spec: OwnerSpec, control: Connection) -> None:
    """Own until told to stop, or until a rule says otherwise."""
    _redirect(spec.output)
    pool = connect(spec.dsn, timeout=spec.store_seconds)
    log = KafkaLog(
        KafkaConfig(spec.bootstrap, client_id=f"owner-{os.getpid()}"),
        topics=spec.topics,
        group=GroupSettings(f"{spec.topics.prefix}owners", GROUP_SESSION_MS, GROUP_HEARTBEAT_MS),
        log=spec.log,
    )
    store = JournalStore(pool, spec.journal_id, max_execution=spec.config.bounds.max_execution)
    gated_log: Any = Gate(log, spec.rules)
    gated_store: Any = Gate(store, spec.rules)
    owner = Owner(spec.config, Ports(gated_log, gated_store, SystemClock(), SystemIds()))
    signal.signal(signal.SIGTERM, lambda *_: owner.stop())
    threading.Thread(target=_serve, args=(owner, gated_log, control), daemon=True).start()
    try:
        owner.run()
    finally:
        log.close()
        pool.close()


def _serve(owner: Owner, log: Gate, control: Connection) -> None:
    """Answer the test's questions until it goes away; then nobody is left to own for."""
    try:
        while True:
            control.send(_answer(owner, log, control.recv()))
    except (EOFError, OSError):
        owner.stop()


def _answer(owner: Owner, log: Gate, question: str) -> Any:
    match question:
        case "fetched":
            return log.fetched
        case "phases":
            return {partition: str(phase) for partition, phase in owner.phases().items()}
        case "stops":
            return {partition: str(stop.kind) for partition, stop in owner.stops().items()}
        case "stats":
            return _public(owner.stats)
        case "cached_bytes":
            return owner.cached_bytes
        case "peak_rss":
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        case _:
            raise ValueError(question)


def _public(stats: object) -> Mapping[str, int]:
    names = getattr(stats, "__slots__", ()) or vars(stats)
    return {name: getattr(stats, name) for name in names if not name.startswith("_")}


def _redirect(output: Path) -> None:
    """Write what the process says, tracebacks included, to a file that a failed test shows."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    sys.stdout.flush()
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    os.close(file)
