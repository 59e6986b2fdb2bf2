"""A whole installation in processes: a database that outlives its owners, owners to kill and freeze, clients.

    with ClickHouse(directory) as clickhouse, World(kafka.bootstrap, clickhouse, directory) as world:
        owner = world.owner()
        async with world.client() as store:
            ...
        owner.stop()
        assert world.verify() == []

A broker and a ``ClickHouse`` serve any number of worlds, each of which has topics and a database of its own.
Owners are forked from a process that has imported everything, so that one more costs next to nothing. All are
ended by their ids.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from runlane.client import ClientOptions, RunStore
from runlane.contract.signing import Key, Keyring
from runlane.contract.topics import Topics
from runlane.gateway import Access, Role, Token, create_app
from runlane.gateway.auth import LOOPBACK_HOSTS
from runlane.kafka import Admin, Consumer, KafkaConfig, Message, Partition
from runlane.owner.config import Bounds, OwnerConfig
from runlane.service.api_server import ApiServer
from runlane.service.verify import Fault, verify_journal
from runlane.store.async_reader import AsyncJournalReader
from runlane.store.block import LogId
from runlane.store.engine import connect
from runlane.store.migrate import DEFAULT_WINDOW, migrate
from tests.e2e.gates import Rule
from tests.e2e.owner_main import OwnerSpec, main
from tests.harness.ports import free_ports

HOST_KEY = Key("host", b"h" * 32)
OWNER_KEYS = Keyring([Key("owner", b"o" * 32)])
TOKEN = "worker-token-of-the-tests"
PASSWORD = "endpoint-password"
PATIENCE = 180.0
FAST = Bounds(retry_last=0.5, recheck=0.5, revoke_seconds=30.0)
"""Shorter pauses than in production; the margins of a block are those of production, the revoke has more."""

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["__main__", "tests.e2e.owner_main"])


def wait_for(condition: Callable[[], object], what: str, *, seconds: float = PATIENCE) -> None:
    """Wait until ``condition`` holds, or fail saying ``what`` did not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in {seconds:.0f} s: {what}"
        time.sleep(0.01)


class ClickHouse:
    """The writable endpoint over a directory of the embedded engine, a process of its own at one port."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (self._port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of the running endpoint."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def start(self) -> None:
        """Start on the data of the last time; return when it listens."""
        self._directory.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "runlane.store.endpoint", "--path", str(self._directory / "engine")]
        command += ["--port", str(self._port), "--password", PASSWORD, "--writable"]
        with (self._directory / "endpoint.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        assert self._process.stdout is not None
        with self._process.stdout as said:
            assert said.readline().startswith(b"http://"), (self._directory / "endpoint.log").read_text()

    def stop(self) -> None:
        """End it in the orderly way."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Halt it: connections stay open, nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def dsn(self, database: str = "default") -> str:
        """Return the address of a database."""
        return f"http://default:{PASSWORD}@127.0.0.1:{self._port}/{database}"

    def create_database(self) -> str:
        """Make an empty database; return its address."""
        name = f"t{uuid.uuid4().hex[:12]}"
        pool = connect(self.dsn())
        pool.command(f"CREATE DATABASE {name}")
        pool.close()
        return self.dsn(name)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.stop()

    def _end(self, sign: signal.Signals) -> None:
        process, self._process = self._process, None
        assert process is not None, "it does not run"
        process.send_signal(sign)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class OwnerProcess:
    """A running owner. ``output`` holds what it says."""

    def __init__(self, spec: OwnerSpec) -> None:
        self.output = spec.output
        self._control, theirs = PROCESSES.Pipe()
        self._process = PROCESSES.Process(target=main, args=(spec, theirs), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """Its process id."""
        pid = self._process.pid
        assert pid is not None
        return pid

    @property
    def exitcode(self) -> int | None:
        """How it ended (negative: by that signal), or None while it runs."""
        return self._process.exitcode

    @property
    def frozen(self) -> bool:
        """Whether it is halted."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def ask(self, question: str) -> Any:
        """Return ``phases``, ``stops``, ``stats``, ``fetched``, ``cached_bytes`` or ``peak_rss``."""
        self._control.send(question)
        assert self._control.poll(PATIENCE), f"the owner does not answer: {self.output.read_text()}"
        return self._control.recv()

    def wait_until_open(self, partitions: Sequence[int]) -> None:
        """Wait until it has opened these partitions."""

        def opened() -> bool:
            assert self._process.is_alive(), self.output.read_text()
            phases: Mapping[int, str] = self.ask("phases")
            return all(phases.get(partition) == "open" for partition in partitions)

        wait_for(opened, f"partitions {partitions} are open")

    def wait_until_dead(self, seconds: float = PATIENCE) -> None:
        """Wait until it has ended."""
        self._process.join(seconds)
        assert self.exitcode is not None, f"the owner still lives: {self.output.read_text()}"

    def freeze(self) -> None:
        """Halt it."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it with SIGKILL, frozen or not."""
        self._process.kill()
        self.wait_until_dead()

    def stop(self) -> None:
        """End it in the orderly way: settled, sent, offsets committed."""
        self._process.terminate()
        self.wait_until_dead()
        assert self.exitcode == 0, self.output.read_text()

    def close(self) -> None:
        """End it if it still runs, and let its pipe go."""
        if self._process.is_alive():
            self.kill()
        self._process.join()
        self._process.close()
        self._control.close()


class World:
    """One installation: its topics on a broker, its database, its read API, and the owners started on it.

    ``window`` is how many insert tokens the journal remembers. ``log`` names an embedded broker, which has no
    identity of its own; its topics must be there already.
    """

    def __init__(
        self,
        bootstrap: str,
        clickhouse: ClickHouse,
        directory: Path,
        *,
        partitions: int = 2,
        window: int = DEFAULT_WINDOW,
        topics: Topics | None = None,
        log: LogId | None = None,
    ) -> None:
        self.directory = directory / uuid.uuid4().hex[:8]
        self.directory.mkdir(parents=True)
        self.kafka = KafkaConfig(bootstrap)
        self.topics = topics or Topics(f"t{uuid.uuid4().hex[:12]}.", partitions)
        if log is None:
            admin, wanted = Admin(self.kafka, timeout=PATIENCE), self.topics
            admin.create_topics(
                [wanted.commands, wanted.outcomes, wanted.records, wanted.rejected], replication_factor=1
            )
            log = LogId(*admin.identity(wanted.commands.name))
        self.log = log
        self.dsn = clickhouse.create_database()
        self.pool = connect(self.dsn)
        self.journal_id = migrate(self.pool, window=window)
        self.owners: list[OwnerProcess] = []
        self._parts = ExitStack()
        self._parts.callback(self.pool.close)
        self._api: ApiServer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every owner and the read API; say what the owners said when the test failed."""
        for owner in self.owners:
            owner.close()
        if kind is not None:
            for owner in self.owners:
                print(f"--- {owner.output}\n{owner.output.read_text()}")  # noqa: T201 - pytest shows it
        self._parts.close()

    def rule(self, **said: Any) -> Rule:
        """Return a rule whose marks are this world's."""
        return Rule(reached=self.directory / f"{uuid.uuid4().hex[:8]}.reached", **said)

    def owner(
        self,
        *rules: Rule,
        direct: bool = False,
        bounds: Bounds = FAST,
        config: OwnerConfig | None = None,
        store_seconds: float = 30.0,
    ) -> OwnerProcess:
        """Start an owner: a member of the group, or with ``direct`` one that takes every partition."""
        config = config or OwnerConfig(host_keys=Keyring([HOST_KEY]), receipt_keys=OWNER_KEYS)
        spec = OwnerSpec(
            bootstrap=self.kafka.bootstrap,
            topics=self.topics,
            dsn=self.dsn,
            journal_id=self.journal_id,
            config=replace(config, bounds=bounds),
            output=self.directory / f"owner-{len(self.owners)}.log",
            log=self.log if direct else None,
            rules=rules,
            store_seconds=store_seconds,
        )
        started = OwnerProcess(spec)
        self.owners.append(started)
        return started

    @property
    def api(self) -> str:
        """The address of the read API, which is started when it is first asked for."""
        if self._api is None:
            reader = AsyncJournalReader(self.pool, threads=2)
            self._parts.callback(reader.close)
            access = Access((Token(TOKEN, Role.WORKER),), LOOPBACK_HOSTS)
            self._api = self._parts.enter_context(ApiServer(create_app(reader, access), ("127.0.0.1", 0)))
        return self._api.url

    def client(self, *, options: ClientOptions | None = None, host: bool = True) -> RunStore:
        """Return a store to be entered, with the host's key unless told otherwise."""
        return RunStore.connect(
            self.kafka.bootstrap,
            self.api,
            token=TOKEN,
            host_key=HOST_KEY if host else None,
            topic_prefix=self.topics.prefix,
            options=options or ClientOptions(timeout=PATIENCE, answer_wait=2.0),
        )

    def verify(self) -> list[Fault]:
        """Return the faults that ``verify`` finds in the journal."""
        with self.pool.client() as client:
            return verify_journal(client).faults

    def messages(self, topic: str) -> list[Message]:
        """Return everything that a topic holds, in partition and offset order."""
        found: list[Message] = []
        with Consumer(self.kafka) as consumer:
            count = Admin(self.kafka, timeout=PATIENCE).partition_counts()[topic]
            for place in (Partition(topic, number) for number in range(count)):
                low, end = consumer.watermarks(place, PATIENCE)
                consumer.assign({place: low})
                taken = low
                while taken < end:
                    polled = consumer.poll(1_000, 1.0).messages
                    found += polled
                    taken = polled[-1].offset + 1 if polled else taken
        return found
