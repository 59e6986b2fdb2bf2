"""The folder of an embedded stack: one stack at a time, its secrets, its journal, how to reach it."""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runlane.client import HostKey, Tokens
from runlane.contract.errors import Unavailable
from runlane.contract.signing import Key, Keyring

CONNECTION_FILE: Final = "connection.json"
ENGINE_FOLDER: Final = "clickhouse"
_SECRETS_FILE: Final = "secrets.json"
_LOCK_FILE: Final = "lock"
_PRIVATE_FOLDER: Final = 0o700
_PRIVATE_FILE: Final = 0o600
_KEY_ID: Final = "embedded"


def _secret() -> str:
    return secrets.token_urlsafe(32)


class Secrets(BaseModel):
    """What the stack signs with and asks for; made once a folder, so that receipts outlive a restart."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    owner_key: str = Field(default_factory=_secret, repr=False)
    host_key: str = Field(default_factory=_secret, repr=False)
    worker_token: str = Field(default_factory=_secret, repr=False)
    host_token: str = Field(default_factory=_secret, repr=False)
    clickhouse_password: str = Field(default_factory=_secret, repr=False)

    def owner_keys(self) -> Keyring:
        """Return the keys that sign receipts."""
        return Keyring([Key(_KEY_ID, self.owner_key.encode())])

    def host_keys(self) -> Keyring:
        """Return the keys that host commands are checked with."""
        return Keyring([self.signing_key()])

    def signing_key(self) -> Key:
        """Return the key that signs host commands."""
        return Key(_KEY_ID, self.host_key.encode())

    def for_clients(self) -> tuple[Tokens, HostKey]:
        """Return what the connection file tells."""
        return Tokens(worker=self.worker_token, host=self.host_token), HostKey(
            id=_KEY_ID, secret=self.host_key
        )


class DataFolder:
    """The locked folder: ``with DataFolder(Path("data")) as folder: folder.secrets``.

    It is made when it is not there, readable by its owner alone. Raises ``Unavailable`` when another has
    it, or when it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock = -1

    @property
    def connection_file(self) -> Path:
        """Where other processes read how to reach the stack."""
        return self.path / CONNECTION_FILE

    @property
    def engine_dsn(self) -> str:
        """Where the journal is."""
        return f"chdb://{self.path / ENGINE_FOLDER}"

    def __enter__(self) -> Self:
        """Lock the folder."""
        try:
            self.path.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._lock = os.open(self.path / _LOCK_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, _PRIVATE_FILE)
        except OSError as error:
            raise Unavailable(
                f"the data folder cannot be used ({error.strerror})", code="data_folder"
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise Unavailable("another stack uses this data folder", code="data_folder_in_use") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say that no stack runs here any more, then unlock."""
        self.connection_file.unlink(missing_ok=True)
        os.close(self._lock)

    def secrets(self) -> Secrets:
        """Return the folder's secrets, made at the first call; ``Unavailable`` when the file is damaged."""
        file = self.path / _SECRETS_FILE
        try:
            return Secrets.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return _save(file, Secrets())
        except ValidationError:
            raise Unavailable(f"{_SECRETS_FILE} in the data folder is damaged", code="data_folder") from None


def _save(file: Path, made: Secrets) -> Secrets:
    fresh = file.with_suffix(".new")
    descriptor = os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, _PRIVATE_FILE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(made.model_dump_json(indent=2))
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)
    return made
