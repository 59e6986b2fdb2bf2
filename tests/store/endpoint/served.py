"""Talking to an endpoint in plain HTTP, and in clickhouse-connect."""

import base64
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import clickhouse_connect
from clickhouse_connect.driver.client import Client

from runlane.store import ClientPool

PASSWORD = "s3cret"


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def summary(self) -> Mapping[str, int]:
        return {name: int(value) for name, value in json.loads(self.headers["x-clickhouse-summary"]).items()}

    @property
    def code(self) -> int:
        return int(self.headers.get("x-clickhouse-exception-code", "0"))


@dataclass(frozen=True)
class Served:
    """Where an endpoint is; `engine` is the one behind it when this process has it open."""

    url: str
    engine: ClientPool | None

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def send(
        self, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """One request as it stands, without credentials."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, target, body, dict(headers or {}), encode_chunked=not _sized(body))
            response = connection.getresponse()
            told = {name.lower(): value for name, value in response.getheaders()}
            return Response(response.status, told, response.read())
        finally:
            connection.close()

    def query(
        self, sql: str | bytes, *, headers: Mapping[str, str] | None = None, **parameters: str
    ) -> Response:
        """POST a query with the password."""
        body = sql if isinstance(sql, bytes) else sql.encode()
        return self.send("POST", f"/?{urlencode(parameters)}", body, {**basic(), **(headers or {})})

    def client(self, **options: Any) -> Client:
        """An ordinary client."""
        return clickhouse_connect.get_client(
            host="127.0.0.1", port=self.port, username="default", password=PASSWORD, **options
        )


def basic(user: str = "default", password: str = PASSWORD) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def _sized(body: Any) -> bool:
    return body is None or isinstance(body, bytes | str)
