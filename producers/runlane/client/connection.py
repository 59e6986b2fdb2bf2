"""The file by which ``runlane up`` tells other processes of this machine how to reach it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runlane.contract.errors import Unavailable
from runlane.contract.signing import MIN_SECRET_BYTES
from runlane.contract.topics import DEFAULT_PREFIX

_OWNER_ONLY = 0o600


class _Part(BaseModel):
    # A field that a newer stack adds must not break an older client.
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Tokens(_Part):
    """Bearer tokens of the read API."""

    worker: str = Field(default="", repr=False)
    host: str = Field(default="", repr=False)
    viewer: str = Field(default="", repr=False)


class HostKey(_Part):
    """The key that signs host commands, as ``runlane.contract.signing.Key`` takes it."""

    id: str = Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")
    secret: str = Field(repr=False, min_length=MIN_SECRET_BYTES)


class Connection(_Part):
    """Addresses and secrets of a running stack: ``Connection.load(Path("data/connection.json")).api``.

    ``log_id`` names one life of the broker, which is empty at each start.
    """

    version: Literal[1] = 1
    kafka: str
    topic_prefix: str = DEFAULT_PREFIX
    log_id: str
    api: str
    clickhouse: str = ""
    tokens: Tokens = Tokens()
    clickhouse_password: str = Field(default="", repr=False)
    host_key: HostKey | None = None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file; ``Unavailable`` when there is none or it says something else."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            reason = f"no connection file {path.name!r} ({type(error).__name__}): is the stack running?"
            raise Unavailable(reason, code="no_connection_file") from None
        except ValidationError:
            raise Unavailable(f"{path.name!r} is no connection file", code="no_connection_file") from None

    def save(self, path: Path) -> None:
        """Write the file in one step, readable by its owner alone; raises ``OSError``."""
        descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(descriptor, _OWNER_ONLY)
                file.write(self.model_dump_json(indent=2))
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
