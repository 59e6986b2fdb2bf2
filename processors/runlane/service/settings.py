"""Settings of every role: environment variables `RUNLANE_*` over a TOML file, checked before anything starts.

`RUNLANE_CONFIG` names the file. Lists are written with commas in a variable and as lists in the file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from runlane.contract.codec import Codec
from runlane.contract.errors import SettingsError
from runlane.contract.signing import Keyring, parse_key
from runlane.contract.topics import DEFAULT_PARTITIONS, DEFAULT_PREFIX, Topics
from runlane.kafka import PATIENT_FETCH_MS, KafkaConfig, Sasl, Tls
from runlane.kafka.config import SaslMechanism, SecurityProtocol
from runlane.kafka.registry import register_schemas

PREFIX: Final = "RUNLANE_"
CONFIG_VARIABLE: Final = f"{PREFIX}CONFIG"
MIN_TOKEN_CHARACTERS: Final = 16
MAX_PARTITIONS: Final = 1024


def _split(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _long_enough(tokens: Sequence[SecretStr]) -> Sequence[SecretStr]:
    if any(len(token.get_secret_value()) < MIN_TOKEN_CHARACTERS for token in tokens):
        raise ValueError(f"a token has at least {MIN_TOKEN_CHARACTERS} characters")
    return tokens


def _keyring(keys: Sequence[SecretStr]) -> Sequence[SecretStr]:
    if keys:
        Keyring([parse_key(key.get_secret_value()) for key in keys])
    return keys


def _listen(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - the highest port
        raise ValueError("takes host:port")
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Tokens = Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(_split), AfterValidator(_long_enough)]
Keys = Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(_split), AfterValidator(_keyring)]
Listen = Annotated[str, AfterValidator(_listen)]


class Viewer(BaseModel):
    """A viewer's token and the sessions that it may see, by id or by the start of their id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: Annotated[SecretStr, AfterValidator(lambda token: _long_enough((token,))[0])]
    sessions: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


class Settings(BaseSettings):
    """All settings; a role says which of them it needs."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    kafka: Annotated[str, Field(description="bootstrap servers of the broker")] = ""
    kafka_security: Annotated[SecurityProtocol, Field(description="how to connect")] = "plaintext"
    kafka_sasl: Annotated[SaslMechanism, Field(description="with a `sasl_…` security")] = "SCRAM-SHA-256"
    kafka_username: Annotated[str, Field(description="of the SASL user")] = ""
    kafka_password: Annotated[SecretStr, Field(description="of the SASL user")] = SecretStr("")
    kafka_ca_file: Annotated[str, Field(description="PEM; empty for the system's authorities")] = ""
    kafka_certificate_file: Annotated[str, Field(description="PEM of a client certificate")] = ""
    kafka_key_file: Annotated[str, Field(description="PEM of its key")] = ""
    registry_url: Annotated[str, Field(description="schema registry; empty for none")] = ""
    topic_prefix: Annotated[str, Field(description="in front of every topic's name")] = DEFAULT_PREFIX
    partitions: Annotated[int, Field(ge=1, le=MAX_PARTITIONS, description="of topics that are made anew")] = (
        DEFAULT_PARTITIONS
    )
    replication: Annotated[int, Field(ge=1, le=15, description="of topics that are made anew")] = 1
    group: Annotated[str, Field(min_length=1, description="consumer group of the owners")] = "runlane-owner"
    memory_group: Annotated[str, Field(min_length=1, description="consumer group of the memory sinks")] = (
        "runlane-memory-sink"
    )
    feed_group: Annotated[str, Field(min_length=1, description="consumer group of the feeds")] = (
        "runlane-feed"
    )
    clickhouse: Annotated[
        SecretStr, Field(description="`http(s)://user:password@host:port/database` or `chdb:///path`")
    ] = SecretStr("")
    owner_key: Annotated[Keys, Field(description="sign claim receipts; the first signs, all verify")] = ()
    host_key: Annotated[Keys, Field(description="hosts sign their commands with one of these")] = ()
    worker_token: Annotated[Tokens, Field(description="read everything, checkpoints too")] = ()
    host_token: Annotated[
        Tokens, Field(description="read everything but checkpoints; create, end and purge sessions")
    ] = ()
    viewers: Annotated[tuple[Viewer, ...], Field(description="tokens that see some sessions only")] = ()
    listen: Annotated[Listen, Field(description="where the gateway listens")] = "127.0.0.1:8080"
    api: Annotated[str, Field(description="address of the read API, for commands that read")] = ""
    token: Annotated[SecretStr, Field(description="their token")] = SecretStr("")
    hosts: Annotated[Names, Field(description="names that a request's Host may hold; empty for any")] = ()
    metrics_listen: Annotated[Listen, Field(description="where a role serves metrics and probes")] = (
        "127.0.0.1:9464"
    )
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="the least that is logged")
    ] = "info"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the base class's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what the caller gives, then the environment, then the file."""
        path = os.environ.get(CONFIG_VARIABLE)
        if not path:
            return init_settings, env_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, Path(path))

    def need(self, *names: str) -> None:
        """Raise ``SettingsError`` when one of the named settings is empty."""
        missing = [PREFIX + name.upper() for name in names if not self._given(name)]
        if missing:
            raise SettingsError(f"needed here and not set: {', '.join(missing)}")

    def kafka_config(self, role: str) -> KafkaConfig:
        """Return how ``role`` connects to the broker; ``SettingsError`` when something for it is not set."""
        self.need("kafka")
        secured = self.kafka_security.startswith("sasl")
        if secured:
            self.need("kafka_username", "kafka_password")
        password = self.kafka_password.get_secret_value()
        return KafkaConfig(
            self.kafka,
            client_id=f"runlane-{role}",
            security_protocol=self.kafka_security,
            sasl=Sasl(self.kafka_sasl, self.kafka_username, password) if secured else None,
            tls=Tls(self.kafka_ca_file, self.kafka_certificate_file, self.kafka_key_file),
            fetch_wait_ms=PATIENT_FETCH_MS,
        )

    def topics(self) -> Topics:
        """Return the names and sizes of the topics."""
        return Topics(self.topic_prefix, self.partitions)

    def codec(self) -> Codec:
        """Return the codec of all messages; asks the schema registry, if any (``Unavailable``)."""
        return Codec(register_schemas(self.registry_url)) if self.registry_url else Codec()

    def keyring(self, name: Literal["owner_key", "host_key"]) -> Keyring:
        """Return a keyring; ``SettingsError`` when it is not set."""
        self.need(name)
        keys: tuple[SecretStr, ...] = getattr(self, name)
        return Keyring([parse_key(key.get_secret_value()) for key in keys])

    def _given(self, name: str) -> bool:
        value = getattr(self, name)
        return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)


def load_settings(**given: Any) -> Settings:
    """Return the settings; ``SettingsError`` says what is wrong without quoting a value."""
    path = os.environ.get(CONFIG_VARIABLE)
    if path and not Path(path).is_file():
        raise SettingsError(f"{CONFIG_VARIABLE} names no file")
    try:
        return Settings(**given)
    except ValidationError as error:
        faults = (f"{_name(fault['loc'])}: {fault['msg']}" for fault in error.errors(include_input=False))
        raise SettingsError("; ".join(faults)) from None
    except ValueError as error:
        # Neither tomllib nor pydantic-settings quotes a value; tomllib names a line and a column.
        raise SettingsError(f"the settings cannot be read: {error}") from None


def parse_listen(value: str) -> tuple[str, int]:
    """Return host and port of a checked ``host:port``; an IPv6 address stands in brackets."""
    host, _, port = value.rpartition(":")
    return host.strip("[]"), int(port)


def _name(location: tuple[int | str, ...]) -> str:
    return PREFIX + ".".join(str(part) for part in location).upper()
