"""The HTTP side: connections, and answers in the headers that ClickHouse clients read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, BinaryIO, Final, cast
from urllib.parse import urlsplit

from runlane.store.endpoint.body import BodyRefused, read_body
from runlane.store.endpoint.engine import MIB
from runlane.store.endpoint.failures import STD_EXCEPTION, QueryFailed, refusal
from runlane.store.endpoint.request import (
    Asked,
    Headers,
    asked_for,
    authenticate,
    intruder,
    query_id,
    query_of,
)

if TYPE_CHECKING:
    from runlane.store.endpoint.server import EndpointServer

_TYPES: Final = {
    "TabSeparated": "text/tab-separated-values; charset=UTF-8",
    "TSV": "text/tab-separated-values; charset=UTF-8",
    "CSV": "text/csv; charset=UTF-8; header=absent",
    "CSVWithNames": "text/csv; charset=UTF-8; header=present",
    "JSONEachRow": "application/x-ndjson; charset=UTF-8",
    "XML": "application/xml; charset=UTF-8",
}
_BINARY: Final = ("Native", "RowBinary", "Arrow", "Parquet", "ORC", "Avro", "MsgPack", "Protobuf", "BSON")
_STRANGERS_BODY: Final = MIB
_CLOSE: Final = {"Connection": "close"}


class Handler(BaseHTTPRequestHandler):
    """One connection. It answers ``/`` and ``/ping`` as a ClickHouse server does."""

    protocol_version = "HTTP/1.1"
    server_version = "runlane"
    sys_version = ""
    timeout = 30
    disable_nagle_algorithm = True

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
        headers = {name.lower(): value for name, value in self.headers.items()}
        refused = intruder(headers, int(self._endpoint.server_address[1]))
        url = urlsplit(self.path)
        if refused:
            self._reply(HTTPStatus.FORBIDDEN, f"{refused}\n".encode(), _CLOSE)
        elif url.path == "/ping" or (url.path == "/" and not url.query and self.command != "POST"):
            self._reply(HTTPStatus.OK, b"Ok.\n", {"Content-Type": "text/html; charset=UTF-8"})
        elif url.path != "/":
            self._reply(HTTPStatus.NOT_FOUND, b"There is no handle for this path.\n", _CLOSE)
        else:
            try:
                self._query(headers, url.query)
            except BodyRefused as error:
                self._reply(error.status, f"{error.message}\n".encode(), _CLOSE)

    def _query(self, headers: Headers, url_query: str) -> None:
        asked: Asked = {}
        try:
            asked = asked_for(url_query)
            authenticate(self._endpoint.account, headers, asked)
        except QueryFailed as error:
            # The answer may be lost when the body is still on its way; a short one is taken first.
            self._body(headers, _STRANGERS_BODY)
            self._fail(error, query_id(asked))
            return
        body = self._body(headers, self._endpoint.body_limit)
        try:
            answer = self._endpoint.engine.run(query_of(asked, headers, body, self._endpoint.body_limit))
        except QueryFailed as error:
            self._fail(error, query_id(asked))
            return
        except Exception as error:  # noqa: BLE001  # a client gets an answer, whatever broke
            self._fail(refusal(STD_EXCEPTION, "STD_EXCEPTION", type(error).__name__), query_id(asked))
            return
        told = {"X-ClickHouse-Query-Id": query_id(asked), "Content-Type": _content_type(answer.format)}
        if answer.format:
            told["X-ClickHouse-Format"] = answer.format
        self._reply(HTTPStatus.OK, answer.body, told | self._facts(answer.summary))

    def _body(self, headers: Headers, limit: int) -> bytes:
        stream = cast("BinaryIO", self.rfile)
        return read_body(stream, headers.get("content-length"), headers.get("transfer-encoding", ""), limit)

    def _fail(self, error: QueryFailed, name: str) -> None:
        told = {"X-ClickHouse-Exception-Code": str(error.code), "X-ClickHouse-Query-Id": name}
        if error.status == HTTPStatus.UNAUTHORIZED:
            told["WWW-Authenticate"] = 'Basic realm="ClickHouse server HTTP API"'
        told["Content-Type"] = "text/plain; charset=UTF-8"
        self._reply(error.status, f"{error.text}\n".encode("utf-8", "replace"), told | self._facts({}))

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
        if "Connection" not in headers:
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
