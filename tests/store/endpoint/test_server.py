"""The endpoint as a server: what it does for owners' crash tests, and how it starts, waits and stops."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from runlane.store import connect, connection_string
from runlane.store.endpoint import Endpoint, EndpointConfig, Limits
from tests.harness.ports import free_ports
from tests.store.endpoint.served import PASSWORD, Served, basic

pytestmark = pytest.mark.slow

ONE_BLOCK = {
    "async_insert": 0,
    "insert_deduplicate": 1,
    "max_insert_threads": 1,
    "max_insert_block_size": 10_000_000,
    "min_insert_block_size_rows": 10_000_000,
    "min_insert_block_size_bytes": 10_000_000_000,
}
PATIENCE = 120.0
SMALL = [["small", 0]]
LARGE = [["x" * 2_000, number] for number in range(3_000)]


@pytest.fixture
def client(server: Served) -> Iterator[Client]:
    client = server.client()
    client.command("DROP TABLE IF EXISTS j SYNC")
    client.command(
        "CREATE TABLE j (body String, n UInt32, not_after Int64 DEFAULT 9000000000000000,"
        " CONSTRAINT in_time CHECK not_after >= toUnixTimestamp64Micro(now64(6)))"
        " ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 1000"
    )
    yield client
    client.close()


def insert(client: Client, rows: list[list[object]], token: str) -> None:
    """One native block under a token, as the block writer sends it."""
    context = client.create_insert_context(
        "j",
        column_names=["body", "n"],
        data=rows,
        settings={**ONE_BLOCK, "insert_deduplication_token": token},
    )
    context.block_row_count = len(rows)
    client.insert(context=context)


@pytest.mark.parametrize(
    ("first", "second"), [(SMALL, LARGE), (LARGE, SMALL)], ids=["small-first", "large-first"]
)
def test_a_token_holds_between_3_kb_and_6_mb(
    client: Client, first: list[list[object]], second: list[list[object]]
) -> None:
    for number in range(5):
        insert(client, first, f"t{number}")
        insert(client, second, f"t{number}")
    assert client.command("SELECT count() FROM j") == 5 * len(first)
    names = client.query("SELECT max_block_number FROM system.parts WHERE table = 'j' ORDER BY 1").result_rows
    assert int(names[-1][0]) >= 5


def test_a_large_block_is_one_part(client: Client) -> None:
    insert(client, LARGE, "one")
    assert client.command("SELECT count() FROM system.parts WHERE table = 'j' AND active") == 1


def test_racing_inserts_of_one_token_have_one_winner(server: Served, client: Client) -> None:
    rivals = [server.client() for _ in range(4)]
    for number in range(10):
        rows = [[[f"rival {rival}", rival]] * (1 + 500 * rival) for rival in range(4)]
        threads = [
            threading.Thread(target=insert, args=(rivals[rival], rows[rival], f"race{number}"))
            for rival in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = client.query("SELECT n, count() FROM j GROUP BY n").result_rows
        assert len(found) == 1
        assert found[0][1] == len(rows[found[0][0]])
        client.command("TRUNCATE TABLE j SYNC")
    for rival in rivals:
        rival.close()


def test_a_violated_constraint_has_its_code(client: Client) -> None:
    with pytest.raises(DatabaseError) as late:
        client.insert(
            "j",
            [["late", 1, 5], ["in time", 2, 9_000_000_000_000_000]],
            column_names=["body", "n", "not_after"],
        )
    assert late.value.code == 469
    assert client.command("SELECT count() FROM j") == 0


def raw_insert(served: Served, sent: int) -> socket.socket:
    """Announce 200,000 bytes of an insert and send some of them."""
    rows = b"x\t1\n" * 50_000
    credentials = "".join(f"{name}: {value}\r\n" for name, value in basic().items())
    head = "POST /?query=INSERT%20INTO%20j%20(body,n)%20FORMAT%20TSV HTTP/1.1\r\n"
    head += f"Host: 127.0.0.1:{served.port}\r\nContent-Length: {len(rows)}\r\n{credentials}\r\n"
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE)
    connection.sendall(head.encode() + rows[:sent])
    return connection


def test_a_client_that_dies_in_its_body_leaves_nothing_and_blocks_nobody(
    server: Served, client: Client
) -> None:
    with raw_insert(server, 100_000):
        assert client.command("SELECT 1") == 1
    time.sleep(0.2)
    assert client.command("SELECT count() FROM j") == 0


def test_a_client_that_dies_behind_its_body_has_inserted(server: Served, client: Client) -> None:
    raw_insert(server, 200_000).close()
    ending = time.monotonic() + PATIENCE
    while client.command("SELECT count() FROM j") != 50_000:
        assert time.monotonic() < ending
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_comes_back_on_its_port_with_what_it_acknowledged(
    tmp_path: Path, ending: signal.Signals
) -> None:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "runlane.store.endpoint", "--path", str(tmp_path), "--port", str(port)]
    command += ["--password", PASSWORD, "--writable"]
    served = Served(f"http://127.0.0.1:{port}", None)
    for life in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == served.url
            client = served.client()
            client.command(
                "CREATE TABLE IF NOT EXISTS k (a UInt8) ENGINE = MergeTree ORDER BY a"
                " SETTINGS fsync_after_insert = 1"
            )
            client.insert("k", [[life]], column_names=["a"])
            assert client.command("SELECT count() FROM k") == life + 1
            client.close()
            process.send_signal(ending)
            assert process.wait(PATIENCE) == (0 if ending is signal.SIGTERM else -signal.SIGKILL)


def test_a_busy_endpoint_says_so(tmp_path: Path) -> None:
    config = EndpointConfig(PASSWORD, limits=Limits(wait=0.1))
    with Endpoint(connection_string(str(tmp_path)), config) as endpoint:
        served = Served(endpoint.url, None)
        # As while another query runs, however long that takes.
        with endpoint._engine._turn:
            answer = served.query("SELECT 1")
        assert answer.code == 202
        assert "(TOO_MANY_SIMULTANEOUS_QUERIES)" in answer.text
        assert served.query("SELECT 1").status == 200


def test_more_connections_than_allowed_are_closed(tmp_path: Path) -> None:
    config = EndpointConfig(PASSWORD, connections=2)
    with Endpoint(connection_string(str(tmp_path)), config) as endpoint:
        served = Served(endpoint.url, None)
        held = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(2)]
        with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as third:
            assert third.recv(10) == b""
        for connection in held:
            connection.close()
        ending = time.monotonic() + PATIENCE
        while True:
            try:
                assert served.query("SELECT 1").status == 200
                break
            except OSError:
                assert time.monotonic() < ending


def test_stopping_waits_for_the_query_and_leaves_the_engine_to_its_owner(tmp_path: Path) -> None:
    owner = connect(f"chdb://{tmp_path}")
    endpoint = Endpoint(connection_string(str(tmp_path)), EndpointConfig(PASSWORD))
    endpoint.start()
    served = Served(endpoint.url, owner)
    answers: list[str] = []
    slow = threading.Thread(target=lambda: answers.append(served.query("SELECT sleep(0.5), 'done'").text))
    slow.start()
    while slow.is_alive() and not endpoint._engine._turn.locked():
        time.sleep(0.001)
    endpoint.stop()
    slow.join()
    assert answers == ["0\tdone\n"]
    with pytest.raises(OSError):
        served.query("SELECT 1")
    assert owner.query("SELECT 1") == [(1,)]
    owner.close()


def test_a_port_that_is_taken_is_an_error_and_lets_the_engine_go(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError):
            Endpoint(
                connection_string(str(tmp_path / "a")), EndpointConfig(PASSWORD, port=taken.getsockname()[1])
            )
    with Endpoint(connection_string(str(tmp_path / "b")), EndpointConfig(PASSWORD)) as endpoint:
        assert Served(endpoint.url, None).query("SELECT 1").text == "1\n"
