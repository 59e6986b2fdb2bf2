"""What an HTTP request asks for: who sends it, and the query in its URL, headers and body."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from runlane.store.endpoint.body import BodyRefused, decode_body
from runlane.store.endpoint.engine import Query
from runlane.store.endpoint.failures import (
    AUTHENTICATION_FAILED,
    INCORRECT_DATA,
    NOT_IMPLEMENTED,
    REQUIRED_PASSWORD,
    refusal,
)

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_QUERY_ID: Final = re.compile(r"[\x21-\x7e]{1,256}")
_TRANSPORT: Final = frozenset(
    {
        "buffer_size",
        "client_protocol_version",
        "close_session",
        "compress",
        "enable_http_compression",
        "http_headers_progress_interval_ms",
        "http_zlib_compression_level",
        "quota_key",
        "role",
        "send_progress_in_http_headers",
        "session_check",
        "session_id",
        "session_timeout",
        "stacktrace",
        "wait_end_of_query",
    }
)
"""Parameters of the transport, without effect here: each request stands alone, its answer is complete."""
_OWN: Final = frozenset({"database", "decompress", "default_format", "password", "query", "query_id", "user"})
_PARAMETER: Final = "param_"
_UNKNOWN_ENCODING: Final = 501

Headers = Mapping[str, str]
"""Header names in lower case."""
Asked = Mapping[str, str]
"""The parameters of the URL."""


@dataclass(frozen=True, slots=True)
class Account:
    """The one user of the endpoint."""

    user: str
    password: str = field(repr=False)


def intruder(headers: Headers, port: int) -> str:
    """Return why a request does not come from a program of this machine, or an empty string.

    A page in a browser can reach loopback: it names its origin, or the host by another name than loopback's.
    """
    if "origin" in headers or "sec-fetch-site" in headers:
        return "Browsers are not served."
    host, _, named = headers.get("host", "").rpartition(":")
    if host.lower() not in LOOPBACK or named != str(port):
        return "This is not the host that you asked for."
    return ""


def asked_for(url_query: str) -> Asked:
    """Return the parameters of a URL; raises ``QueryFailed`` for text that is no UTF-8."""
    try:
        return dict(parse_qsl(url_query, keep_blank_values=True, errors="strict"))
    except ValueError:
        raise refusal(INCORRECT_DATA, "INCORRECT_DATA", "The URL holds text that is no UTF-8") from None


def query_id(asked: Asked) -> str:
    """Return the client's query id, or a new one."""
    given = asked.get("query_id", "")
    return given if _QUERY_ID.fullmatch(given) else str(uuid.uuid4())


def authenticate(account: Account, headers: Headers, asked: Asked) -> None:
    """Raise ``QueryFailed`` unless the request names user and password in one of ClickHouse's ways."""
    user = headers.get("x-clickhouse-user") or asked.get("user") or account.user
    password = headers.get("x-clickhouse-key") or asked.get("password")
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        user, password = _basic(token)
    if password is None:
        message = "Authentication failed: password is required"
        raise refusal(REQUIRED_PASSWORD, "REQUIRED_PASSWORD", message)
    known = hmac.compare_digest(user.encode(), account.user.encode())
    if not hmac.compare_digest(password.encode(), account.password.encode()) or not known:
        message = "Authentication failed: password is incorrect, or there is no user with such name"
        raise refusal(AUTHENTICATION_FAILED, "AUTHENTICATION_FAILED", message)


def query_of(asked: Asked, headers: Headers, body: bytes, limit: int) -> Query:
    """Return the query of a request; raises ``QueryFailed`` for a body sent in a way not known here."""
    if headers.get("content-type", "").startswith("multipart/"):
        raise refusal(NOT_IMPLEMENTED, "NOT_IMPLEMENTED", "Multipart requests are not supported")
    if any(asked.get(name, "0") not in ("", "0") for name in ("compress", "decompress")):
        raise refusal(NOT_IMPLEMENTED, "NOT_IMPLEMENTED", "Use Content-Encoding for compressed bodies")
    try:
        body = decode_body(body, headers.get("content-encoding", ""), limit)
    except BodyRefused as error:
        if error.status == _UNKNOWN_ENCODING:
            raise refusal(NOT_IMPLEMENTED, "NOT_IMPLEMENTED", error.message) from None
        raise refusal(INCORRECT_DATA, "INCORRECT_DATA", error.message) from None
    text = asked.get("query", "").encode()
    return Query(
        raw=text + b"\n" + body if text and body else text or body,
        database=asked.get("database") or headers.get("x-clickhouse-database", ""),
        format=asked.get("default_format") or headers.get("x-clickhouse-format") or "TabSeparated",
        params={
            name.removeprefix(_PARAMETER): value
            for name, value in asked.items()
            if name.startswith(_PARAMETER)
        },
        settings={
            name: value
            for name, value in asked.items()
            if name not in _TRANSPORT and name not in _OWN and not name.startswith(_PARAMETER)
        },
    )


def _basic(token: str) -> tuple[str, str]:
    try:
        user, _, password = base64.b64decode(token, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return user, password
