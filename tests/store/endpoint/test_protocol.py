"""The protocol, request by request: what is sent, and the headers and bodies that a client relies on."""

import gzip
import http.client
import json
import socket
import zlib
from collections.abc import Callable
from urllib.parse import urlencode

import lz4.frame
import pytest
from backports import zstd

from tests.store.endpoint.served import Served, basic


def test_a_query_comes_in_the_body_the_url_or_both(served: Served) -> None:
    assert served.send("POST", "/", b"SELECT 1", basic()).body == b"1\n"
    assert served.send("GET", "/?query=SELECT%201", headers=basic()).body == b"1\n"
    assert served.send("POST", "/?query=SELECT", b"2", basic()).body == b"2\n"
    assert served.send("POST", "/?query=SELECT%203", b"", basic()).body == b"3\n"


def test_a_body_may_come_in_chunks(served: Served) -> None:
    assert served.send("POST", "/", iter((b"SELE", b"CT ", b"1")), basic()).body == b"1\n"


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("lz4", lz4.frame.compress),
        ("zstd", zstd.compress),
        ("identity", bytes),
    ],
)
def test_a_body_may_be_compressed(served: Served, encoding: str, encode: Callable[[bytes], bytes]) -> None:
    sql = b"SELECT length('" + b"x" * 200_000 + b"')"
    answer = served.query(encode(sql), headers={"Content-Encoding": encoding})
    assert answer.text == "200000\n"


@pytest.mark.parametrize(
    ("encoding", "body", "code"),
    [
        ("gzip", b"no gzip", 117),
        ("gzip", gzip.compress(b"SELECT 1")[:-6], 117),
        ("lz4", b"no lz4", 117),
        ("zstd", zstd.compress(b"SELECT 1")[:-2], 117),
        ("br", b"", 48),
        ("gzip", gzip.compress(bytes(70 * 1024 * 1024)), 117),
    ],
    ids=["garbage", "cut", "lz4-garbage", "zstd-cut", "unknown", "bomb"],
)
def test_a_body_that_cannot_be_decompressed_is_refused(
    served: Served, encoding: str, body: bytes, code: int
) -> None:
    answer = served.query(body, headers={"Content-Encoding": encoding})
    assert answer.code == code
    assert answer.status == (501 if code == 48 else 400)


def test_the_engines_own_compression_is_refused(served: Served) -> None:
    for name in ("compress", "decompress"):
        assert served.query("SELECT 1", **{name: "1"}).code == 48
        assert served.query("SELECT 1", **{name: "0"}).status == 200


def test_parameters_come_as_text_that_the_engine_types_and_unescapes(served: Served) -> None:
    answer = served.query(
        "SELECT {n:UInt32} + 1, {s:String}, {a:Array(String)}, {z:Nullable(String)}, {c:Identifier}"
        " FROM {from:Identifier} ORDER BY a LIMIT 1",
        param_n="41",
        param_s="tab\\t'quote",
        param_a="['x','y']",
        param_z="\\N",
        param_c="b",
        param_from="t",
        default_format="JSONCompact",
    )
    assert json.loads(answer.text)["data"] == [[42, "tab\t'quote", ["x", "y"], None, "x"]]


def test_a_parameter_cannot_be_more_than_a_value(served: Served) -> None:
    answer = served.query("SELECT {s:String}", param_s="') ; DROP TABLE t --")
    assert answer.text == "\\') ; DROP TABLE t --\n"
    assert served.query("SELECT {s:String}").code == 456


def test_the_database_comes_in_the_url_or_a_header(served: Served) -> None:
    assert served.query("SELECT currentDatabase()").text == "default\n"
    assert served.query("SELECT currentDatabase()", database="system").text == "system\n"
    assert (
        served.query("SELECT currentDatabase()", headers={"X-ClickHouse-Database": "system"}).text
        == "system\n"
    )
    unknown = served.query("SELECT 1", database="no`such")
    assert (unknown.status, unknown.code) == (404, 81)


@pytest.mark.parametrize(
    ("sql", "asked", "format_", "media"),
    [
        ("SELECT 1", {}, "TabSeparated", "text/tab-separated-values; charset=UTF-8"),
        ("SELECT 1", {"default_format": "JSON"}, "JSON", "application/json; charset=UTF-8"),
        ("SELECT 1 FORMAT CSV", {"default_format": "JSON"}, "CSV", "text/csv; charset=UTF-8; header=absent"),
        ("SELECT 1 FORMAT Native", {}, "Native", "application/octet-stream"),
        ("SELECT 1 FORMAT JSONEachRow;", {}, "JSONEachRow", "application/x-ndjson; charset=UTF-8"),
        ("SELECT 1 FORMAT XML SETTINGS max_threads = 1", {}, "XML", "application/xml; charset=UTF-8"),
        ("SELECT 'FORMAT CSV'", {}, "TabSeparated", "text/tab-separated-values; charset=UTF-8"),
    ],
)
def test_the_format_is_the_querys_else_the_requests_else_tab_separated(
    served: Served, sql: str, asked: dict[str, str], format_: str, media: str
) -> None:
    answer = served.query(sql, **asked)
    assert answer.headers["x-clickhouse-format"] == format_
    assert answer.headers["content-type"] == media
    assert answer.status == 200


def test_the_format_may_come_in_a_header(served: Served) -> None:
    assert served.query("SELECT 1 AS a", headers={"X-ClickHouse-Format": "JSONEachRow"}).text == '{"a":1}\n'


def test_an_empty_native_result_names_its_columns(served: Served) -> None:
    expected = b"\x02\x00\x01a\x06UInt64\x01b\x06String"
    assert served.query("SELECT a, b FROM t WHERE a = 99", default_format="Native").body == expected
    assert served.query("SELECT a, b FROM t WHERE a = 99 FORMAT Native").body == expected
    bound = "SELECT a, b FROM t WHERE a = {a:UInt64}\n FORMAT Native SETTINGS max_threads = 1"
    assert served.query(bound, param_a="99").body == expected


def test_the_summary_counts_what_was_read(served: Served) -> None:
    summary = served.query("SELECT count() FROM t WHERE b != ''").summary
    assert (summary["read_rows"], summary["result_rows"], summary["written_rows"]) == (3, 1, 0)
    assert summary["read_bytes"] > 0
    assert summary["elapsed_ns"] > 0


def test_the_query_id_is_the_clients_or_a_new_one(served: Served) -> None:
    assert served.query("SELECT 1", query_id="mine").headers["x-clickhouse-query-id"] == "mine"
    new = {served.query("SELECT 1").headers["x-clickhouse-query-id"] for _ in range(2)}
    assert len(new) == 2
    assert "\n" not in served.query("SELECT 1", query_id="a\r\nX-Evil: 1").headers["x-clickhouse-query-id"]
    assert served.query("SELEC", query_id="mine").headers["x-clickhouse-query-id"] == "mine"


def test_the_time_zone_is_told(served: Served) -> None:
    zone = served.query("SELECT timezone()").text.strip()
    assert served.query("SELECT 1").headers["x-clickhouse-timezone"] == zone


@pytest.mark.parametrize(
    ("sql", "status", "code", "name"),
    [
        ("SELECT FROM WHERE", 400, 62, "SYNTAX_ERROR"),
        ("SELECT * FROM nothing", 404, 60, "UNKNOWN_TABLE"),
        ("SELECT nothing FROM t", 404, 47, "UNKNOWN_IDENTIFIER"),
        ("SELECT no_such_function(1)", 404, 46, "UNKNOWN_FUNCTION"),
        ("SELECT throwIf(1)", 500, 395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"),
        (
            "SELECT throwIf(number = 9, 'nine') FROM numbers(20) SETTINGS max_threads = 1",
            500,
            395,
            "FUNCTION_",
        ),
        ("SELECT 1 FORMAT Nothing", 404, 73, "UNKNOWN_FORMAT"),
    ],
)
def test_an_error_has_clickhouses_code_status_and_words(
    served: Served, sql: str, status: int, code: int, name: str
) -> None:
    answer = served.query(sql)
    assert (answer.status, answer.code) == (status, code)
    assert answer.text.startswith(f"Code: {code}. DB::Exception: ")
    assert answer.text.count("DB::Exception") == 1
    assert f"({name}" in answer.text
    assert answer.text.rstrip().endswith(")")
    assert "(version " in answer.text


def test_the_name_of_a_python_object_is_no_format(served: Served) -> None:
    assert served.query("SELECT 1", default_format="DataFrame").code == 73


def test_an_unknown_setting_is_an_error(served: Served) -> None:
    answer = served.query("SELECT 1", no_such_setting="1")
    assert (answer.status, answer.code) == (404, 115)


def test_a_failed_result_leaves_nothing_for_the_next_query(served: Served) -> None:
    for _ in range(3):
        half = "SELECT repeat('x', 1000), throwIf(number = 90) FROM numbers(100)"
        assert served.query(half, max_block_size="10").code == 395
        assert served.query("SELECT 1").body == b"1\n"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Length": "x"}, 400),
        ({"Content-Length": "99999999999"}, 413),
        ({"Transfer-Encoding": "gzip"}, 501),
    ],
)
def test_a_body_of_a_wrong_or_unbounded_length_is_refused(
    served: Served, headers: dict[str, str], status: int
) -> None:
    assert served.send("POST", "/", None, {**basic(), **headers}).status == status


@pytest.mark.parametrize("chunks", [b"zz\r\n", b"-1\r\n", b"3\r\nSELECT\r\n0\r\n\r\n", b"fffffff0\r\n"])
def test_wrong_chunks_are_refused(served: Served, chunks: bytes) -> None:
    head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nTransfer-Encoding: chunked\r\n"
    credentials = "".join(f"{name}: {value}\r\n" for name, value in basic().items())
    with socket.create_connection(("127.0.0.1", served.port), timeout=120) as raw:
        raw.sendall(f"{head}{credentials}\r\n".encode() + chunks)
        assert raw.recv(100).split(b" ")[1] in (b"400", b"413")


def test_text_in_the_url_that_is_no_utf8_is_refused(served: Served) -> None:
    assert served.send("GET", "/?query=SELECT%20'%ff'", headers=basic()).code == 117
    assert (
        served.send("POST", "/?" + urlencode({"param_x": "ü"}), b"SELECT {x:String}", basic()).text == "ü\n"
    )


def test_multipart_is_refused(served: Served) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    assert served.query(b"--x--", headers=headers).code == 48


def test_a_connection_serves_one_request_after_the_other(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=120)
    for number in range(3):
        connection.request("POST", "/", f"SELECT {number}".encode(), basic())
        response = connection.getresponse()
        assert response.read() == f"{number}\n".encode()
        assert response.headers["Connection"] == "Keep-Alive"
        connection.request("GET", "/", headers=basic())
        assert connection.getresponse().read() == b"Ok.\n"
    connection.close()
