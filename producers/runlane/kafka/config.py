"""How to reach a Kafka cluster, and what that means in librdkafka's words."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from runlane.contract.limits import MAX_MESSAGE_BYTES

SecurityProtocol = Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

_REPEAT_SECONDS: Final = 30.0


class _FewRepeats(logging.Filter):
    """Lets a broker that is away be reported now and then, not at each attempt to connect."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        subject = record.getMessage().partition("]:")[0]
        last = self._last.get(subject)
        if last is not None and record.created - last < _REPEAT_SECONDS:
            return False
        self._last[subject] = record.created
        return True


LOG: Final = logging.getLogger("runlane.kafka")
LOG.addFilter(_FewRepeats())


@dataclass(frozen=True, slots=True)
class Sasl:
    """A user of the cluster."""

    mechanism: SaslMechanism
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files of a TLS connection; empty means the system's authorities and no client certificate."""

    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""
    key_password: str = field(default="", repr=False)


PATIENT_FETCH_MS: Final = 50
"""For a real broker: it answers a waiting fetch as soon as something arrives; each fetch less saves work."""


@dataclass(frozen=True, slots=True)
class KafkaConfig:
    """Addresses (``host:port``, comma-separated), security, and the name by which brokers log this client.

    ``fetch_wait_ms`` is how long a broker holds a reader's fetch while it has nothing. On the embedded one,
    which does not wake for what arrives, it is the latency.
    """

    bootstrap: str
    client_id: str = "runlane"
    security_protocol: SecurityProtocol = "plaintext"
    sasl: Sasl | None = None
    tls: Tls = field(default_factory=Tls)
    fetch_wait_ms: int = 5

    def options(self) -> dict[str, Any]:
        """Return the settings that every librdkafka client of this cluster has.

        Raises ``ValueError`` where SASL is asked for without a user, or the other way round.
        """
        if self.security_protocol.startswith("sasl") != (self.sasl is not None):
            raise ValueError("a SASL security protocol and a SASL user belong together")
        options: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap,
            "client.id": self.client_id,
            "security.protocol": self.security_protocol,
            "message.max.bytes": MAX_MESSAGE_BYTES,
            "socket.keepalive.enable": True,
            # How long a topic that no broker knows may be one that is just being made.
            "topic.metadata.propagation.max.ms": 5_000,
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 2_000,
            "logger": LOG,
        }
        if self.sasl is not None:
            options |= {
                "sasl.mechanism": self.sasl.mechanism,
                "sasl.username": self.sasl.username,
                "sasl.password": self.sasl.password,
            }
        files = {
            "ssl.ca.location": self.tls.ca_file,
            "ssl.certificate.location": self.tls.certificate_file,
            "ssl.key.location": self.tls.key_file,
            "ssl.key.password": self.tls.key_password,
        }
        return options | {name: value for name, value in files.items() if value}
