"""The connection file of a running stack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runlane.client import Connection, ConnectionFile, HostKey, RunStore, Tokens
from runlane.contract.errors import Unavailable

FULL = Connection(
    kafka="127.0.0.1:9092",
    log_id="log-1",
    api="http://127.0.0.1:8080",
    clickhouse="http://127.0.0.1:8123",
    tokens=Tokens(worker="worker-token", host="host-token", viewer="viewer-token"),
    clickhouse_password="pass-word",
    host_key=HostKey(id="host", secret="s" * 16),
)


def test_a_file_comes_back_as_it_was_saved_and_is_its_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    FULL.save(path)
    assert Connection.load(path) == FULL
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["connection.json"]


def test_the_file_has_the_documented_fields(tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    FULL.save(path)
    assert json.loads(path.read_bytes()) == {
        "version": 1,
        "kafka": "127.0.0.1:9092",
        "topic_prefix": "runlane.",
        "log_id": "log-1",
        "api": "http://127.0.0.1:8080",
        "clickhouse": "http://127.0.0.1:8123",
        "tokens": {"worker": "worker-token", "host": "host-token", "viewer": "viewer-token"},
        "clickhouse_password": "pass-word",
        "host_key": {"id": "host", "secret": "s" * 16},
    }


def test_secrets_are_not_shown_by_a_representation() -> None:
    for secret in ("worker-token", "host-token", "viewer-token", "pass-word", "s" * 16):
        assert secret not in repr(FULL)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version":2,"kafka":"k","log_id":"l","api":"a"}',
        '{"version":1,"kafka":"k","log_id":"l","api":"a","host_key":{"id":"h","secret":"short"}}',
    ],
)
def test_another_text_is_no_connection_and_is_not_quoted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "connection.json"
    path.write_text(text)
    with pytest.raises(Unavailable) as refused:
        Connection.load(path)
    assert refused.value.code == "no_connection_file"
    assert "short" not in refused.value.message


def test_what_a_newer_stack_adds_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    path.write_text('{"version":1,"kafka":"k","log_id":"l","api":"a","more":1,"tokens":{"extra":"x"}}')
    assert Connection.load(path).kafka == "k"


def test_a_replaced_file_is_read_again_and_a_vanished_one_remembered(tmp_path: Path) -> None:
    path = tmp_path / "connection.json"
    endpoints = ConnectionFile(path)
    with pytest.raises(Unavailable):
        endpoints.api()
    FULL.save(path)
    assert endpoints.kafka().log_id == "log-1"
    assert (endpoints.api().url, endpoints.api().token) == ("http://127.0.0.1:8080", "worker-token")
    FULL.model_copy(update={"log_id": "log-2", "kafka": "127.0.0.1:1"}).save(path)
    assert (endpoints.kafka().log_id, endpoints.kafka().config.bootstrap) == ("log-2", "127.0.0.1:1")
    path.unlink()
    assert endpoints.kafka().log_id == "log-2"


def test_the_environment_says_where_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KAFKA", "API", "TOKEN", "HOST_KEY", "TOPIC_PREFIX"):
        monkeypatch.delenv(f"RUNLANE_{name}", raising=False)
    with pytest.raises(Unavailable) as missing:
        RunStore.from_env()
    assert missing.value.code == "no_address"
    monkeypatch.setenv("RUNLANE_KAFKA", "broker:9092")
    monkeypatch.setenv("RUNLANE_API", "http://gateway")
    assert isinstance(RunStore.from_env(), RunStore)
    monkeypatch.setenv("RUNLANE_HOST_KEY", "host:short")
    with pytest.raises(ValueError, match="16 bytes"):
        RunStore.from_env()
