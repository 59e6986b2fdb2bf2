import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runlane.contract.errors import JournalFault, Unavailable
from runlane.store.engine import ClientPool, connect


@pytest.mark.parametrize("dsn", ["clickhouse://host/db", "/a/folder", "", "kafka://x"])
def test_an_address_of_another_kind_is_no_database(dsn: str) -> None:
    with pytest.raises(ValueError, match="chdb"):
        connect(dsn)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable) as refused:
        connect("http://default:S3CR3T@127.0.0.1:1/default", timeout=2)
    assert "S3CR3T" not in refused.value.message


def test_a_directory_belongs_to_one_process(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path}/db"
    program = f"from runlane.store.engine import connect\npool = connect({dsn!r})\n"
    holder = program + "print('open', flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        rival = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        other.communicate("\n")
    assert "Unavailable" in rival.stderr


def test_a_refused_query_says_neither_its_text_nor_its_values(
    pool: ClientPool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(JournalFault) as refused:
        pool.query("SELECT S3CR3T, {value:String}", {"value": "S3CR3T"})
    assert "code 47" in refused.value.message
    assert "S3CR3T" not in refused.value.message + caplog.text
    assert refused.value.__cause__ is None


def test_what_is_left_of_a_failed_query_reaches_no_other(pool: ClientPool) -> None:
    with pytest.raises((JournalFault, Unavailable)):
        pool.query(
            "SELECT number, throwIf(number = 300000, 'no') FROM numbers(1000000)", settings={"max_threads": 1}
        )
    assert [tuple(row) for row in pool.query("SELECT 42")] == [(42,)]


def test_a_query_that_takes_too_much_memory_is_stopped(pool: ClientPool) -> None:
    with pytest.raises(Unavailable):
        pool.query("SELECT length(groupArray(repeat('x', 1000))) FROM numbers(4000000)")
    assert [tuple(row) for row in pool.query("SELECT 42")] == [(42,)]


def test_threads_have_clients_of_their_own(pool: ClientPool) -> None:
    found: list[int] = []
    barrier = threading.Barrier(4)

    def read(number: int) -> None:
        barrier.wait(120)
        rows = (pool.query("SELECT {number:UInt32}", {"number": number})[0] for _ in range(5))
        found.extend(value - number for (value,) in rows)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0] * 20


def test_a_closed_pool_lends_nothing(pool: ClientPool) -> None:
    other = ClientPool("http://127.0.0.1:1", 1)
    other.close()
    with pytest.raises(Unavailable):
        other.query("SELECT 1")
    with pytest.raises(Unavailable):
        other.command("SELECT 1")
