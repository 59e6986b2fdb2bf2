"""The read API served by a real server: addresses, encoded paths, clean ends."""

import socket

import httpx2
import pytest

from runlane.contract.errors import SettingsError, Unavailable
from runlane.contract.http_models import RunBody, path_segment
from runlane.gateway import Access, create_app
from runlane.service.api_server import ApiServer, access_of
from runlane.service.settings import Settings
from tests.gateway.memory_reader import MemoryReader
from tests.harness.ports import free_ports
from tests.service.commands import PATIENCE

LONG = "0123456789abcdef"


def settings(**given: object) -> Settings:
    return Settings.model_validate(given)


@pytest.mark.parametrize("run_id", ["plain", "a/b", "a%2Fb", "..", "ünï?#", "~"])
def test_encoded_ids_reach_the_reader(run_id: str) -> None:
    reader = MemoryReader()
    reader.add_run(run_id)

    with ApiServer(create_app(reader, Access()), ("127.0.0.1", 0)) as server:
        answer = httpx2.get(f"{server.url}/v1/runs/{path_segment(run_id)}", timeout=PATIENCE)

    assert RunBody.model_validate_json(answer.content).run_id == run_id


def test_the_port_is_free_again_afterwards() -> None:
    app = create_app(MemoryReader(), Access())
    (port,) = free_ports(1)
    for _ in range(2):
        with ApiServer(app, ("127.0.0.1", port)) as server:
            assert httpx2.get(f"{server.url}/livez", timeout=PATIENCE).status_code == 200


def test_small_answers_are_sent_at_once() -> None:
    with ApiServer(create_app(MemoryReader(), Access()), ("127.0.0.1", 0)) as server:
        assert server._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_taken_address_is_a_typed_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Unavailable) as caught:
        ApiServer(create_app(MemoryReader(), Access()), taken.getsockname())

    assert caught.value.code == "address_unusable"


@pytest.mark.parametrize("listen", ["127.0.0.1:8080", "[::1]:8080", "localhost:8080", "127.8.0.1:1"])
def test_without_tokens_loopback_is_open(listen: str) -> None:
    assert access_of(settings(listen=listen)).open


@pytest.mark.parametrize("listen", ["0.0.0.0:8080", "[::]:8080", "10.0.0.1:8080", "gateway:8080"])
def test_without_tokens_nothing_else_is(listen: str) -> None:
    with pytest.raises(SettingsError, match="RUNLANE_WORKER_TOKEN"):
        access_of(settings(listen=listen))


def test_tokens_come_from_the_settings() -> None:
    given = settings(
        listen="0.0.0.0:8080",
        worker_token=f"{LONG}1",
        host_token=f"{LONG}2",
        viewers=[{"token": f"{LONG}3", "sessions": ["a"], "prefixes": ["team-"]}],
    )

    access = access_of(given)

    assert access.authenticate(f"Bearer {LONG}1").role == "worker"
    assert access.authenticate(f"Bearer {LONG}2").role == "host"
    viewer = access.authenticate(f"Bearer {LONG}3")
    assert viewer.scope is not None
    assert viewer.scope.holds("team-9")
