"""Who may read what: bearer tokens of workers, hosts and viewers (design, Who may do what)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from runlane.contract.errors import NotPermitted
from runlane.contract.reader import SessionScope

LOOPBACK_HOSTS: Final = ("127.0.0.1", "::1", "localhost")
_SCHEME: Final = "bearer "


class Role(StrEnum):
    """What a token's holder is. Only a worker reads checkpoints; a viewer sees the sessions of its scope."""

    WORKER = "worker"
    HOST = "host"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a request; ``scope`` bounds a viewer and is None for everyone else."""

    role: Role
    scope: SessionScope | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token and what it lets its holder be. A viewer without a scope sees nothing."""

    secret: str = field(repr=False)
    role: Role
    scope: SessionScope = field(default_factory=SessionScope)

    def principal(self) -> Principal:
        """Return the token's holder."""
        return Principal(self.role, self.scope if self.role is Role.VIEWER else None)


@dataclass(frozen=True, slots=True)
class Access:
    """Tokens and host names of one gateway.

    Without tokens everyone is a worker, so such a gateway must listen on loopback only (``open``), and
    answers only requests whose Host is a loopback name and whose Origin, if any, is the gateway's own. With
    tokens that check is made when ``hosts`` is given.
    """

    tokens: Sequence[Token] = ()
    hosts: Sequence[str] = ()

    @property
    def open(self) -> bool:
        """Whether requests need no token."""
        return not self.tokens

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The host names that a request may name; empty when any will do."""
        return tuple(self.hosts) or (LOOPBACK_HOSTS if self.open else ())

    def authenticate(self, authorization: str) -> Principal:
        """Return who sends this Authorization header; ``NotPermitted`` (unauthorized) for no or a wrong one.

        Every token is compared, each in constant time, so the time taken tells nothing.
        """
        if self.open:
            return Principal(Role.WORKER)
        given = _digest(authorization[len(_SCHEME) :].strip())
        found = [token for token in self.tokens if hmac.compare_digest(_digest(token.secret), given)]
        if not found or authorization[: len(_SCHEME)].lower() != _SCHEME:
            raise NotPermitted("a valid bearer token is needed", code="unauthorized")
        return found[0].principal()


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
