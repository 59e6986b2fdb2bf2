"""The HTTP side: who may ask, what is asked, and answers in the headers that ClickHouse clients read."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Final, cast
from urllib.parse import parse_qsl, urlsplit

from runlane.store.endpoint.body import BodyRefused, decode_body, read_body
from runlane.store.endpoint.engine import Query
from runlane.store.endpoint.failures import (
    AUTHENTICATION_FAILED,
    INCORRECT_DATA,
    NOT_IMPLEMENTED,
    REQUIRED_PASSWORD,
    QueryFailed,
    refusal,
)

if TYPE_CHECKING:
    from runlane.store.endpoint.server import EndpointServer

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
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
        "password",
        "quota_key",
        "role",
        "send_progress_in_http_headers",
        "session_check",
        "session_id",
        "session_timeout",
        "stacktrace",
        "user",
        "wait_end_of_query",
    }
)
"""Parameters that are the transport's, not the engine's. There are no sessions: each request stands alone."""
_ASKED: Final = frozenset({"query", "query_id", "database", "default_format", "decompress"})
_TYPES: Final = {
    "TabSeparated": "text/tab-separated-values; charset=UTF-8",
    "TSV": "text/tab-separated-values; charset=UTF-8",
    "CSV": "text/csv; charset=UTF-8; header=absent",
    "CSVWithNames": "text/csv; charset=UTF-8; header=present",
    "JSONEachRow": "application/x-ndjson; charset=UTF-8",
    "XML": "application/xml; charset=UTF-8",
}
_BINARY: Final = ("Native", "RowBinary", "Arrow", "Parquet", "ORC", "Avro", "MsgPack", "Protobuf", "BSON", "Npy")


@dataclass(frozen=True, slots=True)
class Account:
    """The one user of the endpoint."""

    user: str
    password: str


class Handler(BaseHTTPRequestHandler):
    """One connection. It answers ``/`` and ``/ping`` as a ClickHouse server does."""

    protocol_version = "HTTP/1.1"
    server_version = "runlane"
    sys_version = ""
    timeout = 30
    disable_nagle_algorithm: ClassVar[bool] = True

    @property
    def _endpoint(self) -> EndpointServer:
        return cast("EndpointServer", self.server)

    def do_GET(self) -> None:
        """Answer a ping, or a query that is in the URL."""
        self._serve()

    def do_HEAD(self) -> None:
        """Answer as GET, without the body."""
        self._serve()

    def do_POST(self) -> None:
        """Answer a query whose text, or whose data, is the body."""
        self._serve()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it
        """Log nothing: a request line may hold a password or a payload."""

    def _serve(self) -> None:
        refused = self._intruder()
        if refused:
            self._reply(403, refused.encode(), {"Connection": "close"})
            return
        url = urlsplit(self.path)
        try:
            body = read_body(
                cast("BinaryIO", self.rfile),
                self.headers.get("Content-Length"),
                self.headers.get("Transfer-Encoding", ""),
                self._endpoint.body_limit,
            )
            if url.path == "/ping" or (url.path == "/" and not url.query and not body):
                self._reply(200, b"Ok.\n", {"Content-Type": "text/html; charset=UTF-8"})
            elif url.path != "/":
                self._reply(404, b"There is no handle for this path.\n", {})
            else:
                self._query(url.query, body)
        except BodyRefused as error:
            self._reply(error.status, f"{error.message}\n".encode(), {"Connection": "close"})

    def _intruder(self) -> str:
        """Return why a request does not come from a program of this machine, or an empty string.

        A page in a browser can reach loopback: it always names its origin when it posts, and a name that resolves to
        loopback shows in Host.
        """
        if "Origin" in self.headers or "Sec-Fetch-Site" in self.headers:
            return "Browsers are not served.\n"
        host, _, port = self.headers.get("Host", "").rpartition(":")
        if host.lower() not in _LOOPBACK or port != str(self._endpoint.server_address[1]):
            return "This is not the host that you asked for.\n"
        return ""

    def _query(self, url_query: str, body: bytes) -> None:
        asked = dict(parse_qsl(url_query, keep_blank_values=True))
        query_id = asked.get("query_id", "")
        if _QUERY_ID.fullmatch(query_id) is None:
            query_id = str(uuid.uuid4())
        try:
            self._authenticate(asked)
            answer = self._endpoint.engine.run(self._parse(asked, body))
        except QueryFailed as error:
            self._fail(error, query_id)
            return
        headers = {"X-ClickHouse-Query-Id": query_id, "Content-Type": _content_type(answer.format)}
        if answer.format:
            headers["X-ClickHouse-Format"] = answer.format
        self._reply(200, answer.body, headers | self._facts(answer.summary))

    def _authenticate(self, asked: Mapping[str, str]) -> None:
        user = self.headers.get("X-ClickHouse-User") or asked.get("user")
        password = self.headers.get("X-ClickHouse-Key") or asked.get("password")
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "basic":
            try:
                user, _, password = base64.b64decode(token, validate=True).decode().partition(":")
            except (binascii.Error, UnicodeDecodeError):
                user, password = None, ""
        if password is None:
            message = "The endpoint is protected: Authentication failed: password is required"
            raise refusal(REQUIRED_PASSWORD, "REQUIRED_PASSWORD", message)
        account = self._endpoint.account
        same_user = hmac.compare_digest((user or "default").encode(), account.user.encode())
        if not (hmac.compare_digest(password.encode(), account.password.encode()) and same_user):
            message = "Authentication failed: password is incorrect, or there is no user with such name"
            raise refusal(AUTHENTICATION_FAILED, "AUTHENTICATION_FAILED", message)

    def _parse(self, asked: Mapping[str, str], body: bytes) -> Query:
        if self.headers.get("Content-Type", "").startswith("multipart/"):
            raise refusal(NOT_IMPLEMENTED, "NOT_IMPLEMENTED", "Multipart requests are not supported")
        if asked.get("decompress", "0") not in ("", "0") or asked.get("compress", "0") not in ("", "0"):
            raise refusal(NOT_IMPLEMENTED, "NOT_IMPLEMENTED", "Use Content-Encoding for compressed bodies")
        try:
            body = decode_body(body, self.headers.get("Content-Encoding", ""), self._endpoint.body_limit)
        except BodyRefused as error:
            code = NOT_IMPLEMENTED if error.status == 501 else INCORRECT_DATA
            name = "NOT_IMPLEMENTED" if error.status == 501 else "INCORRECT_DATA"
            raise refusal(code, name, error.message) from None
        url_query = asked.get("query", "").encode("utf-8", "surrogateescape")
        return Query(
            raw=url_query + b"\n" + body if url_query and body else url_query or body,
            database=asked.get("database") or self.headers.get("X-ClickHouse-Database", ""),
            format=asked.get("default_format") or self.headers.get("X-ClickHouse-Format") or "TabSeparated",
            params={name[6:]: value for name, value in asked.items() if name.startswith("param_")},
            settings={
                name: value
                for name, value in asked.items()
                if name not in _TRANSPORT and name not in _ASKED and not name.startswith("param_")
            },
        )

    def _fail(self, error: QueryFailed, query_id: str) -> None:
        headers = {"X-ClickHouse-Exception-Code": str(error.code), "X-ClickHouse-Query-Id": query_id}
        if error.status == 401:
            headers["WWW-Authenticate"] = 'Basic realm="ClickHouse server HTTP API"'
        headers["Content-Type"] = "text/plain; charset=UTF-8"
        self._reply(error.status, f"{error.text}\n".encode("utf-8", "replace"), headers | self._facts({}))

    def _facts(self, summary: Mapping[str, int]) -> dict[str, str]:
        counts = {name: str(value) for name, value in {"total_rows_to_read": 0, **summary}.items()}
        return {
            "X-ClickHouse-Summary": json.dumps(counts),
            "X-ClickHouse-Timezone": self._endpoint.engine.timezone,
            "X-ClickHouse-Server-Display-Name": "runlane",
        }

    def _reply(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        if headers.get("Connection") != "close":
            self.send_header("Connection", "Keep-Alive")
            self.send_header("Keep-Alive", f"timeout={self.timeout}")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _content_type(name: str) -> str:
    known = _TYPES.get(name)
    if known is not None:
        return known
    if name.startswith("JSON"):
        return "application/json; charset=UTF-8"
    return "application/octet-stream" if name.startswith(_BINARY) else "text/plain; charset=UTF-8"
