"""A real Apache Kafka for tests and benchmarks: one KRaft node on loopback, no container.

In a test, take the fixture and a prefix of your own::

    @pytest.mark.kafka
    def test_something(kafka_broker: Kafka) -> None:
        prefix = new_topic_prefix()
        kafka_broker.create_topic(f"{prefix}commands", partitions=3)
        producer = Producer({"bootstrap.servers": kafka_broker.bootstrap})

`kafka_broker` is the broker named by `RUNLANE_KAFKA`, else one started for the session. A test that
stops, kills or freezes the broker takes `own_kafka_broker`, which is always a started one, and leaves it
running. Outside pytest::

    with KafkaBroker(directory) as broker:
        ...

Topics are never created by use, as in production.
"""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.harness.kafka_libs import java, kafka_libs
from tests.harness.ports import free_ports

ANSWER_SECONDS = 180.0
STOP_SECONDS = 60.0
START_TRIES = 3
LOG_TAIL = 3000

# Sizes and delays for a single node that lives for one test session.
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "auto.create.topics.enable": "false",
    "message.max.bytes": "4194304",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "500",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.index.size.max.bytes": "1048576",
    "log.cleaner.dedupe.buffer.size": "16777216",
    # After a kill the controller holds the old registration until its session ends; a machine that stalls for
    # longer than that fences the only broker, and clients can lose it for good (docs/operations.md).
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "500",
}


def new_topic_prefix() -> str:
    """A prefix that no other test has, in place of the default `runlane.`."""
    return f"t{uuid.uuid4().hex[:12]}."


class Kafka:
    """A Kafka cluster that answers at `bootstrap`."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def admin(self) -> AdminClient:
        """A new admin client."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def create_topic(self, name: str, *, partitions: int = 1, config: dict[str, str] | None = None) -> None:
        """Make a topic and wait until it is there.

        Raises:
            KafkaException: the cluster refused it, for one because it exists.
        """
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config or {})
        # Held by a name, since a client that nothing holds ends its own requests; the stubs miss its futures.
        admin: Any = self.admin()
        admin.create_topics([topic])[name].result(timeout=ANSWER_SECONDS)
        deadline = time.monotonic() + ANSWER_SECONDS
        while not self._led(admin, name) and time.monotonic() < deadline:
            time.sleep(0.05)

    @staticmethod
    def _led(admin: Any, name: str) -> bool:
        """Whether each partition of the topic has its leader: the cluster's word comes before that."""
        partitions = admin.list_topics(timeout=ANSWER_SECONDS).topics.get(name)
        return partitions is not None and all(one.leader >= 0 for one in partitions.partitions.values())

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait for the cluster's word.

        Raises:
            KafkaException: the cluster refused it, for one because there is none.
        """
        admin: Any = self.admin()
        admin.delete_topics([name])[name].result(timeout=ANSWER_SECONDS)


class KafkaBroker(Kafka):
    """A broker process of our own: data, settings and log live in `directory`.

    It keeps its data and its port through `stop` or `kill` and `start`. As a context manager it starts on
    entry and ends on exit.
    """

    def __init__(
        self,
        directory: Path,
        *,
        heap: str = "768m",
        properties: dict[str, str] | None = None,
        brief: bool = True,
    ) -> None:
        """Choose the place, the JVM heap, and server properties over `PROPERTIES`; starts nothing.

        `brief`: it lives for a test. Else it is compiled to live for long, and slow in its first minute.
        """
        super().__init__("")
        self._directory = directory
        self._heap = heap
        self._properties = properties or {}
        self._brief = brief
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of the running broker."""
        return self._running().pid

    @property
    def log(self) -> str:
        """What the broker has logged so far, warnings and worse."""
        path = self._directory / "broker.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def start(self) -> None:
        """Start on the data of the last time, or format and start; return when it answers.

        Raises:
            KafkaUnavailable: no Java, or no way to fetch Kafka.
            RuntimeError: it ended or did not answer; the text has the end of its log.
        """
        if self._process is not None:
            raise RuntimeError("the broker is already running")
        if self.bootstrap:
            self._launch()
        else:
            self._format_and_launch(tries=START_TRIES)

    def stop(self) -> None:
        """End it in the orderly way; the data stays."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it with SIGKILL; the data stays as the kill left it."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop, then start on the same data and port."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Halt the process with SIGSTOP: connections stay open, nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)
        # Its threads go on until one of them has taken the signal.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        os.kill(self.pid, signal.SIGCONT)

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what still runs."""
        if self._process is not None:
            self.stop()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the broker is not running")
        return self._process

    def _format_and_launch(self, *, tries: int) -> None:
        self._format()
        try:
            self._launch()
        except RuntimeError:
            # A free port can be taken by another process between our look and the broker's bind.
            if tries == 1 or "BindException" not in self.log:
                raise
            self._format_and_launch(tries=tries - 1)

    def _format(self) -> None:
        port, controller = free_ports(2)
        self._directory.mkdir(parents=True, exist_ok=True)
        data = self._directory / f"data-{port}"
        addresses = {
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "log.dirs": str(data),
        }
        settings = PROPERTIES | self._properties | addresses
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        self._settings.write_text(lines)
        cluster = uuid.uuid4().hex[:22]
        command = [*self._java("256m"), "kafka.tools.StorageTool", "format", "-t", cluster]
        done = subprocess.run(
            [*command, "-c", str(self._settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=ANSWER_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"Kafka's storage could not be formatted:\n{done.stdout[-LOG_TAIL:]}")
        self.bootstrap = f"127.0.0.1:{port}"

    @property
    def _settings(self) -> Path:
        return self._directory / "server.properties"

    def _java(self, heap: str) -> list[str]:
        logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        tuning = ["-XX:+UseSerialGC"]
        if self._brief:
            # It would spend more on the second compiler than it gains.
            tuning.append("-XX:TieredStopAtLevel=1")
        return [java(), f"-Xmx{heap}", *tuning, logging, "-cp", f"{kafka_libs()}/*"]

    def _launch(self) -> None:
        command = [*self._java(self._heap), "kafka.Kafka", str(self._settings)]
        with (self._directory / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # A Ctrl-C at the terminal is for pytest, whose teardown ends the broker.
                start_new_session=True,
            )
        try:
            self._await_answer()
        except BaseException:
            self.kill()
            raise

    def _await_answer(self) -> None:
        process = self._running()
        admin = self.admin()
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"Kafka ended with {process.returncode}:\n{self.log[-LOG_TAIL:]}")
            with contextlib.suppress(KafkaException):
                if admin.list_topics(timeout=1.0).brokers:
                    return
        raise RuntimeError(f"Kafka did not answer in {ANSWER_SECONDS:.0f} s:\n{self.log[-LOG_TAIL:]}")

    def _end(self, sign: signal.Signals) -> None:
        process = self._running()
        process.send_signal(sign)
        try:
            # A frozen process takes a SIGTERM only once it goes on.
            process.send_signal(signal.SIGCONT)
            process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        finally:
            self._process = None
