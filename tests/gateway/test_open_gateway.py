"""`runlane gateway` without a token, as a process: loopback, its own Host and Origin only, and it says so."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import httpx2
import pytest

from tests.service.commands import Process, runlane

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
def test_it_does_not_listen_beyond_this_machine(tmp_path: Path, listen: str) -> None:
    refused = runlane("gateway", expect=3, CLICKHOUSE=f"chdb://{tmp_path / 'journal'}", LISTEN=listen)
    assert "without a token the gateway listens on loopback only" in refused.stderr


def test_it_says_that_it_is_open_and_refuses_other_hosts_and_origins(tmp_path: Path) -> None:
    journal = f"chdb://{tmp_path / 'journal'}"
    runlane("migrate", CLICKHOUSE=journal)
    with Process("gateway", CLICKHOUSE=journal, LISTEN="127.0.0.1:0") as gateway:
        url = json.loads(gateway.wait_for("gateway serves"))["url"]
        with httpx2.Client(base_url=url, trust_env=False) as http:
            mode = http.get("/v1/access").json()
            runs = http.get("/v1/runs")
            host = http.get("/v1/runs", headers={"Host": "evil.example"})
            origin = http.get("/v1/runs", headers={"Origin": "http://evil.example"})
            page = http.get("/", headers={"Host": "evil.example"})
        assert gateway.end(signal.SIGTERM) == 0

    assert "no token is set: everyone on this machine reads everything" in gateway.output
    assert mode == {"mode": "open"}
    assert runs.json()["runs"] == []
    assert [host.json()["code"], origin.json()["code"]] == ["host_refused", "origin_refused"]
    assert [host.status_code, origin.status_code, page.status_code] == [403, 403, 403]
