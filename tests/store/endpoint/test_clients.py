"""Ordinary clients against the endpoint: clickhouse-connect, curl, and @clickhouse/client of npm."""

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from clickhouse_connect import common
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from tests.store.endpoint.served import PASSWORD, Served

NODE = Path(__file__).with_name("node")
CACHE = Path(__file__).resolve().parents[3] / ".cache" / "clickhouse-client"


@pytest.fixture
def reader(served: Served) -> Iterator[Client]:
    client = served.client()
    yield client
    client.close()


@pytest.fixture
def writer(server: Served) -> Iterator[Client]:
    client = server.client()
    client.command("DROP TABLE IF EXISTS w SYNC")
    client.command(
        "CREATE TABLE w (id UInt64, name String, at DateTime64(6, 'UTC'), tags Map(String, String),"
        " low LowCardinality(String))"
        " ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100"
    )
    yield client
    client.close()


def test_clickhouse_connect_reads_with_parameters_and_settings(
    reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To a reader all settings look fixed, as to any read-only user of a server; they are taken all the same.
    monkeypatch.setattr(common._common_settings["invalid_setting_action"], "value", "send")
    result = reader.query(
        "SELECT a, b FROM t WHERE b IN {b:Array(String)} AND a < {a:UInt64} ORDER BY a",
        {"b": ["x", "tab\t", "o'\\ne"], "a": 10},
        settings={"max_block_size": 1},
    )
    assert result.result_rows == [(1, "x"), (2, "tab\t")]
    assert result.column_names == ("a", "b")
    assert int(result.summary["read_rows"]) == 3
    assert reader.command("SELECT count() FROM t") == 3
    assert reader.server_version


def test_clickhouse_connect_sees_the_columns_of_an_empty_result(reader: Client) -> None:
    for sql in ("SELECT a, b FROM t WHERE 0", "SELECT a, b FROM t LIMIT 0"):
        result = reader.query(sql)
        assert (result.column_names, result.result_rows) == (("a", "b"), [])
        assert [kind.name for kind in result.column_types] == ["UInt64", "String"]


def test_clickhouse_connect_reads_arrow_and_streams(reader: Client) -> None:
    table = reader.query_arrow("SELECT a, b FROM t ORDER BY a")
    assert table.column("b").to_pylist() == ["x", "tab\t", "ü"] or table.column("b").to_pylist() == [
        b"x",
        b"tab\t",
        "ü".encode(),
    ]
    assert reader.query_arrow("SELECT a FROM t WHERE 0").num_rows == 0
    with reader.query_row_block_stream("SELECT number FROM numbers(200000)") as stream:
        assert sum(len(block) for block in stream) == 200_000


def test_clickhouse_connect_gets_errors_with_their_codes(reader: Client) -> None:
    with pytest.raises(DatabaseError) as refused:
        reader.command("DROP TABLE t")
    assert (refused.value.code, refused.value.name) == (164, "READONLY")
    with pytest.raises(DatabaseError) as unknown:
        reader.query("SELECT * FROM nothing")
    assert (unknown.value.code, unknown.value.name) == (60, "UNKNOWN_TABLE")


def test_clickhouse_connect_with_a_wrong_password_is_told_so(served: Served) -> None:
    import clickhouse_connect

    with pytest.raises(DatabaseError) as refused:
        clickhouse_connect.get_client(host="127.0.0.1", port=served.port, username="default", password="no")
    assert refused.value.code == 516


@pytest.mark.parametrize("compress", [False, "lz4", "zstd", "gzip"])
def test_clickhouse_connect_inserts_in_any_compression(
    writer: Client, server: Served, compress: str | bool
) -> None:
    at = datetime(2026, 3, 14, 15, 9, 26, 535897, UTC)
    rows = [[number, f"n{number}\t'ü", at, {"k": "v"}, "low"] for number in range(5000)]
    client = server.client(compress=compress)
    summary = client.insert("w", rows, column_names="*")
    client.close()
    assert summary.written_rows == 5000
    assert writer.query("SELECT * FROM w WHERE id = 4999").result_rows == [
        (*rows[-1][:2], at.replace(tzinfo=None), *rows[-1][3:])
    ]


def test_clickhouse_connect_inserts_arrow_and_raw_formats(writer: Client) -> None:
    table = writer.query_arrow("SELECT number AS id FROM numbers(3)")
    writer.insert_arrow("w", table)
    writer.raw_insert("w", ["id", "name"], b'{"id": 7, "name": "x"}\n', fmt="JSONEachRow")
    writer.raw_insert("w", ["id", "name"], b"8\ty\n", fmt="TSV")
    assert writer.query("SELECT sum(id), count() FROM w").result_rows == [(0 + 1 + 2 + 7 + 8, 5)]


def test_a_token_keeps_the_second_insert_out(writer: Client) -> None:
    settings = {"insert_deduplication_token": "one", "async_insert": 0, "insert_deduplicate": 1}
    for name in ("first", "second"):
        writer.insert("w", [[1, name]], column_names=["id", "name"], settings=settings)
    assert writer.query("SELECT name FROM w").result_rows == [("first",)]
    writer.insert(
        "w",
        [[1, "third"]],
        column_names=["id", "name"],
        settings={**settings, "insert_deduplication_token": "two"},
    )
    assert writer.query("SELECT count() FROM w").result_rows == [(2,)]


def test_a_settings_change_of_one_request_does_not_reach_the_next(writer: Client) -> None:
    assert writer.command("SELECT getSetting('max_block_size')", settings={"max_block_size": 7}) == 7
    assert writer.command("SELECT getSetting('max_block_size')") != 7


def test_a_bad_insert_writes_nothing_and_says_why(writer: Client) -> None:
    with pytest.raises(DatabaseError) as refused:
        writer.raw_insert("w", ["id"], b"1\n2\nx\n", fmt="TSV")
    assert refused.value.code == 27
    with pytest.raises(DatabaseError) as unknown:
        writer.raw_insert("w", ["nothing"], b"1\n", fmt="TSV")
    assert unknown.value.code == 16
    assert writer.query("SELECT count() FROM w").result_rows == [(0,)]


def curl(*arguments: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    command = shutil.which("curl")
    if command is None:
        pytest.skip("no curl on this machine")
    return subprocess.run(
        [command, "-sS", *arguments], input=data, capture_output=True, timeout=180, check=False
    )


def test_curl_reads(served: Served) -> None:
    user = f"default:{PASSWORD}"
    assert curl("-u", user, "-d", "SELECT a FROM t ORDER BY a", served.url + "/").stdout == b"1\n2\n3\n"
    got = curl(
        "-u", user, "-G", "--data-urlencode", "query=SELECT {x:UInt8}", "-d", "param_x=5", served.url + "/"
    )
    assert got.stdout == b"5\n"
    told = curl("-i", "-u", user, "-d", "SELEC", served.url + "/").stdout
    assert b"HTTP/1.1 400" in told
    assert b"X-ClickHouse-Exception-Code: 62" in told
    assert b"Code: 62. DB::Exception: " in told


def test_curl_inserts_a_large_body_that_it_announces_first(server: Served, writer: Client) -> None:
    data = b"".join(b"%d\tx\n" % number for number in range(300_000))
    target = f"{server.url}/?query=INSERT%20INTO%20w%20(id,name)%20FORMAT%20TSV"
    headers = ("-H", f"X-ClickHouse-Key: {PASSWORD}", "-H", "Expect: 100-continue")
    assert curl("-f", *headers, "--data-binary", "@-", target, data=data).returncode == 0
    assert writer.query("SELECT count() FROM w").result_rows == [(300_000,)]


def clickhouse_client() -> Path:
    """A folder with @clickhouse/client as its lock file pins it, installed once."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("no node and npm on this machine")
    pinned = (NODE / "package-lock.json").read_bytes()
    folder = CACHE / hashlib.sha256(pinned).hexdigest()[:16]
    if not (folder / "node_modules").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(NODE / name, folder)
        command = [npm, "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=folder, check=True, timeout=300)
    return folder


@pytest.mark.slow
def test_the_node_client_reads_writes_streams_and_gets_errors(server: Served) -> None:
    folder = clickhouse_client()
    shutil.copy(NODE / "session.mjs", folder)
    command = ["node", "session.mjs", server.url, PASSWORD]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "ping": True,
        "written": "2",
        "rows": [{"id": "1", "name": "o'ne\t"}, {"id": "18446744073709551615", "name": "größe"}],
        "query_id": "mine",
        "count": 100000,
        "streamed": 70000,
        "error": {"code": "60", "type": "UNKNOWN_TABLE"},
    }
