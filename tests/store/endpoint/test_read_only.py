"""What a reader cannot do, whatever its settings say; and what it can."""

import socket
import threading
import time
from pathlib import Path

import pytest

from runlane.store import ClientPool, connection_string
from runlane.store.endpoint import Endpoint, EndpointConfig, Limits
from runlane.store.endpoint.failures import QueryFailed
from runlane.store.endpoint.guard import check_query
from tests.store.endpoint.served import PASSWORD, Served

READONLY = 164

WRITES = [
    "INSERT INTO t VALUES (9, 'y')",
    "INSERT INTO t SELECT 9, 'y'",
    "INSERT INTO t FORMAT CSV\n9,y",
    "CREATE TABLE u (a UInt8) ENGINE = Memory",
    "CREATE TEMPORARY TABLE u (a UInt8)",
    "DROP TABLE t",
    "TRUNCATE TABLE t",
    "ALTER TABLE t DELETE WHERE 1",
    "DELETE FROM t WHERE 1",
    "OPTIMIZE TABLE t FINAL",
    "RENAME TABLE t TO u",
    "SYSTEM FLUSH LOGS",
    "SET readonly = 0",
    "KILL QUERY WHERE 1",
    "/* SELECT */ KILL MUTATION WHERE 1",
    "(KILL QUERY WHERE 1)",
]


@pytest.mark.parametrize("sql", WRITES)
@pytest.mark.parametrize("settings", [{}, {"readonly": "0"}, {"readonly": "2"}, {"allow_ddl": "1"}])
def test_a_write_is_refused_whatever_readonly_the_client_asks_for(
    served: Served, engine: ClientPool, sql: str, settings: dict[str, str]
) -> None:
    answer = served.query(sql, **settings)
    assert answer.code == READONLY
    assert answer.status == 500
    assert engine.query("SELECT count() FROM t")[0][0] == 3


@pytest.mark.parametrize(
    "name", ["readonly = 0", "max_threads = 8", "max_memory_usage = 0", "max_execution_time = 0"]
)
def test_a_settings_clause_cannot_lift_what_is_forced(served: Served, name: str) -> None:
    assert served.query(f"SELECT 1 SETTINGS {name}").code == READONLY


@pytest.mark.parametrize(
    ("name", "asked", "forced"),
    [
        ("readonly", "0", "1"),
        ("max_threads", "8", "1"),
        ("max_memory_usage", "0", str(256 * 1024 * 1024)),
        ("max_execution_time", "0", "60"),
        ("max_execution_time", "3600", "60"),
        ("max_execution_time", "1", "1"),
    ],
)
def test_caps_are_forced_after_the_clients_settings(
    served: Served, name: str, asked: str, forced: str
) -> None:
    answer = served.query(f"SELECT getSetting('{name}')", **{name: asked})
    assert answer.text == f"{forced}\n"


def test_other_settings_of_the_client_hold(served: Served) -> None:
    assert served.query("SELECT getSetting('max_block_size')", max_block_size="777").text == "777\n"


def test_an_endless_query_ends_in_time(path: Path) -> None:
    config = EndpointConfig(PASSWORD, limits=Limits(seconds=1))
    with Endpoint(connection_string(str(path)), config) as endpoint:
        answer = Served(endpoint.url, None).query("SELECT count() FROM numbers(1000000000000)")
    assert (answer.status, answer.code) == (408, 159)


def test_a_hungry_query_is_refused_its_memory(served: Served) -> None:
    assert served.query("SELECT groupArray(number) FROM numbers(1000000000)").code == 241
    assert served.query("SELECT repeat('x', 1000000) FROM numbers(1000)").code == 241
    assert served.query("SELECT 1").text == "1\n"


FILES = [
    "SELECT file('{path}')",
    "SELECT `file`('{path}')",
    "SELECT \"file\"('{path}')",
    "SELECT file /* x */ ('{path}')",
    "SELECT * APPLY file FROM (SELECT '{path}')",
    "SELECT * FROM file('{path}', 'LineAsString')",
    "SELECT 'it''s', file('{path}')",
    "SELECT '\\' , ' || file('{path}')",
    "SELECT 1 -- '\n, file('{path}') -- '",
    "SELECT /* ' */ file('{path}') /* ' */",
    "SELECT $$'$$, file('{path}'), $$'$$",
    "SELECT 1 INTO OUTFILE '{path}.out'",
    "SELECT 1 INTO/**/OUTFILE '{path}.out'",
    "SELECT * FROM sqlite('{path}.db', 't')",
    "SELECT * FROM python(path)",
    "SELECT * FROM eval('SELECT 1')",
    "DESCRIBE TABLE file('{path}')",
    "DESC url('http://127.0.0.1:1/')",
    "DESCRIBE/**/s3('http://127.0.0.1:1/b/x.csv')",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
    "SELECT * FROM executable('x.sh', 'TSV', 'a UInt8')",
    "SELECT * FROM remote('127.0.0.1:9000', 'system.one')",
    "SELECT aiGenerate('{path}')",
]


@pytest.mark.parametrize("sql", FILES)
def test_no_query_reaches_files_the_network_or_python(served: Served, tmp_path: Path, sql: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    answer = served.query(sql.format(path=secret))
    assert answer.code == READONLY
    assert "hidden" not in answer.text
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]


CALLS = [
    "url('http://{at}/x.csv')",
    "url('http://{at}/x.csv', 'CSV', 'a UInt8')",
    "s3('http://{at}/bucket/x.csv', 'CSV', 'a UInt8')",
    "gcs('http://{at}/bucket/x.csv')",
    "azureBlobStorage('http://{at}/x', 'c', 'b', 'n', 'k')",
    "hdfs('hdfs://{at}/x', 'TSV', 'a UInt8')",
    "remote('{at}', 'system.one')",
    "mysql('{at}', 'd', 't', 'u', 'p')",
    "postgresql('{at}', 'd', 't', 'u', 'p')",
    "mongodb('{at}', 'd', 't', 'u', 'p', 'a Int32')",
    "redis('{at}', 'k', 'k String')",
    "iceberg('http://{at}/bucket/x')",
    "deltaLake('http://{at}/bucket/x')",
]


@pytest.mark.parametrize("call", CALLS)
def test_no_table_function_calls_out(served: Served, call: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        at = f"127.0.0.1:{listening.getsockname()[1]}"
        for sql in (f"SELECT * FROM {call}", f"DESCRIBE TABLE {call}", f"EXPLAIN SELECT * FROM {call}"):
            assert served.query(sql.format(at=at)).code == READONLY
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format_template_resultset", "/etc/hostname"),
        ("format_schema", "/etc/hostname:M"),
        ("additional_result_filter", "file('/etc/hostname') = ''"),
        ("additional_table_filters", "{'t': 'file(b) = 1'}"),
        ("allow_python_table_function", "1"),
        ("allow_experimental_eval_table_function", "1"),
        ("dialect", "prql"),
        ("format_avro_schema_registry_url", "http://127.0.0.1:1/"),
        ("function_sleep_max_microseconds_per_block", "9000000000"),
    ],
)
def test_a_setting_that_holds_an_expression_or_a_path_is_refused(
    served: Served, name: str, value: str
) -> None:
    answer = served.query("SELECT 1", **{name: value})
    assert answer.code == READONLY
    assert name in answer.text


def test_one_statement_a_request(served: Served) -> None:
    answer = served.query("SELECT 1; SELECT 2")
    assert (answer.status, answer.code) == (400, 62)
    assert "Multi-statements are not allowed" in answer.text
    assert served.query("SELECT 1;").text == "1\n"
    assert served.query("SELECT ';'").text == ";\n"


READS = [
    ("SELECT 'outfile', 'file', 'kill', 'a;b'", "outfile\tfile\tkill\ta;b\n"),
    ("WITH 2 AS x SELECT x", "2\n"),
    ("FROM t SELECT a WHERE b = 'x'", "1\n"),
    ("(SELECT 1) UNION ALL (SELECT 1)", "1\n1\n"),
    ("-- a comment\nSELECT 1", "1\n"),
    ("/* file */ SELECT 1 /* no such thing */", None),
    ("SHOW TABLES LIKE 't'", "t\n"),
    ("EXISTS TABLE t", "1\n"),
    ("DESCRIBE TABLE system.one", "dummy\tUInt8\t\t\t\t\t\n"),
    ("DESC t FORMAT CSV", None),
    ("DESCRIBE (SELECT 1 AS a)", "a\tUInt8\t\t\t\t\t\n"),
    ("EXPLAIN SELECT 1", None),
    ("SELECT count() FROM system.parts WHERE table = 't' AND active", "1\n"),
]


@pytest.mark.parametrize(("sql", "expected"), READS)
def test_a_reader_reads(served: Served, sql: str, expected: str | None) -> None:
    answer = served.query(sql)
    if "file */" in sql:
        # In doubt whether a word is meant, it counts as meant.
        assert answer.code == READONLY
        return
    assert answer.status == 200
    assert expected is None or answer.text == expected


def test_one_query_runs_at_a_time(served: Served) -> None:
    counts: list[int] = []

    def ask() -> None:
        answer = served.query(
            "SELECT sum(sleepEachRow(0.05)), (SELECT count() FROM system.processes) FROM numbers(2)"
        )
        counts.append(int(answer.text.split("\t")[1]))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1, 1, 1, 1]


def test_the_owner_of_the_engine_is_not_read_only(served: Served, engine: ClientPool) -> None:
    engine.command("CREATE TABLE own (a UInt8) ENGINE = MergeTree ORDER BY a")
    engine.command("INSERT INTO own VALUES (7)")
    assert served.query("SELECT a FROM own").text == "7\n"
    engine.command("DROP TABLE own SYNC")
    assert served.query("SELECT a FROM own").code == 60


def test_a_long_text_costs_no_more_than_its_length() -> None:
    begun = time.thread_time()
    for text in (
        "SELECT " + "'" * 200_001,
        "SELECT " + "(" * 200_000 + " file",
        "DESC " + "`" * 200_001,
        "SELECT '" + "x" * 1_100_000 + "'",
    ):
        with pytest.raises(QueryFailed):
            check_query(text + "; file")
    assert time.thread_time() - begun < 5
