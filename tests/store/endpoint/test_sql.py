"""Where an INSERT's data begins, and which statement a text is."""

import pytest

from runlane.store.endpoint.sql import Statement, first_word, output_format, parse, without_format
from tests.store.endpoint.served import Served


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("select 1", "SELECT"),
        ("  \n\t((Select 1))", "SELECT"),
        ("-- select\n/* with */ # x\n#! y\nINSERT INTO t", "INSERT"),
        ("", ""),
        ("/* open", ""),
        ("1 + 1", ""),
        ("\u00a0SELECT", "SELECT"),
    ],
)
def test_the_first_word_stands_behind_comments_and_brackets(text: str, word: str) -> None:
    assert first_word(text) == word


@pytest.mark.parametrize(
    ("head", "settings", "shape"),
    [
        (b"INSERT INTO t ", b"", "CSV"),
        (b"insert into t (a, b) ", b"", "CSV"),
        (b"INSERT INTO `format` (`values`, \"select\", 'x') ", b"", "CSV"),
        (b"/* FORMAT x */ INSERT INTO t -- FORMAT y\n (format, settings) ", b"", "CSV"),
        (b"INSERT INTO t ", b"SETTINGS async_insert = 0, insert_deduplication_token = 'FORMAT' ", "CSV"),
        (b"INSERT INTO FUNCTION null('a UInt8, format String') ", b"", "CSV"),
    ],
)
@pytest.mark.parametrize("gap", [b"\n", b" ", b"\r\n", b"  \n"])
def test_data_begins_behind_the_format(head: bytes, settings: bytes, shape: str, gap: bytes) -> None:
    data = b"\x00\xff FORMAT VALUES '\n\n"
    found = parse(head + settings + b"FORMAT " + shape.encode() + gap + data)
    assert found == Statement("INSERT", head, settings, shape, data)


@pytest.mark.parametrize(
    "raw",
    [
        b"INSERT INTO t VALUES (1, 'FORMAT CSV')",
        b"INSERT INTO t (a) SELECT a FROM u FORMAT CSV",
        b"INSERT INTO t WITH 1 AS a SELECT a",
        b"INSERT INTO t FROM INFILE 'x' FORMAT CSV",
        b"INSERT INTO t",
        b"SELECT 1 FORMAT CSV",
        b"",
    ],
)
def test_every_other_statement_is_left_whole(raw: bytes) -> None:
    found = parse(raw)
    assert (found.text, found.data_format, found.data) == (raw, "", b"")


def test_a_format_clause_is_found_at_the_end_only() -> None:
    assert output_format(b"SELECT 'FORMAT JSON'", "TSV") == "TSV"
    assert output_format(b"SELECT 1 AS format, 2", "TSV") == "TSV"
    assert output_format(b"SELECT 1\n format json ;\n", "TSV") == "json"
    assert output_format(b"SELECT 1 FORMAT CSV SETTINGS a = 1, b = 'x'", "TSV") == "CSV"
    assert without_format(b"SELECT 1 FORMAT CSV SETTINGS a = 1;") == b"SELECT 1 SETTINGS a = 1"
    assert output_format(b"FORMAT a SETTINGS " * 50_000, "TSV") == "a"
    assert without_format(b"SELECT 1 ; ") == b"SELECT 1 "


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("INSERT INTO s VALUES", b"(1, 'x'), (2, 'y')"),
        ("INSERT INTO s FORMAT Values", b"(1, 'x'), (2, 'y')"),
        ("INSERT INTO s (b, a) FORMAT CSV", b"x,1\ny,2\n"),
        ("INSERT INTO s SETTINGS async_insert = 0 FORMAT TSV", b"1\tx\n2\ty\n"),
        ("", b"INSERT INTO s FORMAT JSONEachRow\n" + b'{"a":1,"b":"x"}{"a":2,"b":"y"}'),
        ("", b"INSERT INTO s SELECT number + 1, ['x', 'y'][number + 1] FROM numbers(2)"),
    ],
)
def test_inserts_of_every_shape(server: Served, url: str, body: bytes) -> None:
    server.query("CREATE TABLE IF NOT EXISTS s (a UInt64, b String) ENGINE = MergeTree ORDER BY a")
    server.query("TRUNCATE TABLE s SYNC")
    parameters = {"query": url} if url else {}
    answer = server.query(body, **parameters)
    assert answer.status == 200, answer.text
    assert answer.summary["written_rows"] == 2
    assert server.query("SELECT a, b FROM s ORDER BY a").text == "1\tx\n2\ty\n"


def test_an_insert_without_rows_writes_none(server: Served) -> None:
    server.query("CREATE TABLE IF NOT EXISTS s (a UInt64, b String) ENGINE = MergeTree ORDER BY a")
    answer = server.query("INSERT INTO s FORMAT TSV\n")
    assert (answer.status, answer.summary["written_rows"]) == (200, 0)
