"""A real Kafka that knows its users and lets each do only what it was allowed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from runlane.kafka import KafkaConfig, Sasl
from tests.e2e.stack import wait_for
from tests.harness.kafka import ANSWER_SECONDS, KafkaBroker

ADMIN: Final = ("admin", "admin-secret")
WORKER: Final = ("worker", "worker-secret")
_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_PROPERTIES: Final = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": (
        f'{_MODULE} required username="{ADMIN[0]}" password="{ADMIN[1]}" '
        f'user_{ADMIN[0]}="{ADMIN[1]}" user_{WORKER[0]}="{WORKER[1]}";'
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:{ADMIN[0]};User:ANONYMOUS",
}


class SecuredBroker(KafkaBroker):
    """``ADMIN`` may do everything, ``WORKER`` nothing until it is allowed."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, properties=_PROPERTIES)

    def admin(self) -> AdminClient:
        """A new admin client."""
        return AdminClient(self.config(*ADMIN).options() | {"log_level": 0})

    def config(self, user: str, password: str) -> KafkaConfig:
        """How a user connects."""
        sasl = Sasl("PLAIN", user, password)
        return KafkaConfig(self.bootstrap, security_protocol="sasl_plaintext", sasl=sasl)

    def allow(self, kind: str, name: str, operation: str) -> None:
        """Let the worker do ``operation`` to a topic or group."""
        admin: Any = self.admin()
        entry = _entry(AclBinding, kind, name, operation)
        for future in admin.create_acls([entry]).values():
            future.result(timeout=ANSWER_SECONDS)
        self._wait_until_known(kind, name, operation, allowed=True)

    @contextmanager
    def allowed(self, kind: str, name: str, operation: str) -> Iterator[None]:
        """Allow it until the end of the body."""
        self.allow(kind, name, operation)
        try:
            yield
        finally:
            self.forbid(kind, name, operation)

    def forbid(self, kind: str, name: str, operation: str) -> None:
        """Take that back."""
        admin: Any = self.admin()
        entry = _entry(AclBindingFilter, kind, name, operation)
        for future in admin.delete_acls([entry]).values():
            assert len(future.result(timeout=ANSWER_SECONDS)) == 1
        self._wait_until_known(kind, name, operation, allowed=False)

    def _wait_until_known(self, kind: str, name: str, operation: str, *, allowed: bool) -> None:
        """Wait until the broker has heard of what its controller has answered for already."""
        admin: Any = self.admin()
        entry = _entry(AclBindingFilter, kind, name, operation)
        wait_for(
            lambda: bool(admin.describe_acls(entry).result(timeout=ANSWER_SECONDS)) is allowed,
            f"{operation} of {name} is allowed: {allowed}",
        )


def _entry(made: Any, kind: str, name: str, operation: str) -> Any:
    return made(
        ResourceType[kind],
        name,
        ResourcePatternType.LITERAL,
        f"User:{WORKER[0]}",
        "*",
        AclOperation[operation],
        AclPermissionType.ALLOW,
    )
