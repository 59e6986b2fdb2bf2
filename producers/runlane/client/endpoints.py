"""Where an installation is reached: given once, or read from a connection file that changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runlane.client.connection import Connection
from runlane.contract.errors import Unavailable
from runlane.contract.signing import Key
from runlane.contract.topics import DEFAULT_PREFIX
from runlane.kafka.config import KafkaConfig

CLIENT_ID = "runlane-client"


@dataclass(frozen=True, slots=True)
class KafkaTarget:
    """The broker to write to; another ``log_id`` is another life of its topics."""

    config: KafkaConfig
    topic_prefix: str = DEFAULT_PREFIX
    log_id: str = ""
    host_key: Key | None = None


@dataclass(frozen=True, slots=True)
class Api:
    """Where the read API is, ``http://host:port``, and the bearer token for it, empty without tokens."""

    url: str
    token: str = field(default="", repr=False)


class Endpoints(Protocol):
    """Tells the addresses as they are now."""

    def kafka(self) -> KafkaTarget:
        """Return the broker; ``Unavailable`` when it is not known."""
        ...

    def api(self) -> Api:
        """Return the read API; ``Unavailable`` when it is not known."""
        ...


@dataclass(frozen=True, slots=True)
class FixedEndpoints:
    """Addresses that do not change while the store lives."""

    target: KafkaTarget
    read_api: Api

    def kafka(self) -> KafkaTarget:
        """Return the broker."""
        return self.target

    def api(self) -> Api:
        """Return the read API."""
        return self.read_api


class ConnectionFile:
    """Reads the connection file of ``runlane up`` whenever it was replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._connection: Connection | None = None

    def kafka(self) -> KafkaTarget:
        """Return the broker; ``Unavailable`` when there was never a file."""
        now = self._read()
        key = None if now.host_key is None else Key(now.host_key.id, now.host_key.secret.encode())
        return KafkaTarget(KafkaConfig(now.kafka, client_id=CLIENT_ID), now.topic_prefix, now.log_id, key)

    def api(self) -> Api:
        """Return the read API, with a worker's token; ``Unavailable`` when there was never a file."""
        now = self._read()
        return Api(now.api, now.tokens.worker)

    def _read(self) -> Connection:
        try:
            status = self._path.stat()
            stamp = (status.st_ino, status.st_mtime_ns)
            if stamp != self._seen:
                self._connection = Connection.load(self._path)
                self._seen = stamp
        except (OSError, Unavailable):
            # A stack that is down may have taken its file along: what it said last is the best guess.
            if self._connection is None:
                raise Unavailable(
                    f"no connection file {self._path.name!r}", code="no_connection_file"
                ) from None
        assert self._connection is not None, "read, or raised"
        return self._connection
