"""Who is served: programs of this machine that know the password."""

import socket

import pytest

from runlane.store.endpoint import EndpointConfig
from tests.store.endpoint.served import PASSWORD, Served, basic

QUERY = "/?query=SELECT+1"


@pytest.mark.parametrize(
    "headers",
    [basic(), {"X-ClickHouse-User": "default", "X-ClickHouse-Key": PASSWORD}, {"X-ClickHouse-Key": PASSWORD}],
)
def test_a_password_in_a_header_is_known(served: Served, headers: dict[str, str]) -> None:
    assert served.send("GET", QUERY, headers=headers).body == b"1\n"


def test_a_password_in_the_url_is_known(served: Served) -> None:
    assert served.send("GET", f"{QUERY}&user=default&password={PASSWORD}").body == b"1\n"


def test_no_password_asks_for_one(served: Served) -> None:
    answer = served.send("GET", QUERY)
    assert (answer.status, answer.code) == (401, 194)
    assert answer.headers["www-authenticate"].startswith("Basic ")


@pytest.mark.parametrize(
    "headers",
    [
        basic(password="wrong"),
        basic(user="root"),
        basic(password=""),
        {"Authorization": "Basic ~~~"},
        {"X-ClickHouse-User": "default", "X-ClickHouse-Key": "wrong"},
    ],
)
def test_a_wrong_password_or_user_is_refused_before_the_query_is_read(
    served: Served, headers: dict[str, str]
) -> None:
    answer = served.send("POST", "/", b"SELECT 1", headers)
    assert (answer.status, answer.code) == (403, 516)
    assert "Code: 516. DB::Exception: " in answer.text
    assert "(AUTHENTICATION_FAILED)" in answer.text


def test_a_browsers_request_is_refused_with_the_password_too(served: Served) -> None:
    for header in ("Origin", "Sec-Fetch-Site"):
        answer = served.send("POST", "/", b"SELECT 1", {**basic(), header: "http://localhost"})
        assert answer.status == 403
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_request_to_another_host_is_refused(served: Served, host: str) -> None:
    named = {**basic(), "Host": host.format(port=served.port)}
    assert served.send("GET", QUERY, headers=named).status == 403


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_loopback_has_several_names(served: Served, host: str) -> None:
    named = {**basic(), "Host": host.format(port=served.port)}
    assert served.send("GET", QUERY, headers=named).status == 200


def test_it_listens_on_loopback_only(served: Served) -> None:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        with socket.socket() as other:
            other.settimeout(2)
            with pytest.raises(OSError):
                other.connect((str(address), served.port))
    assert served.send("GET", "/ping").status == 200


def test_there_is_no_endpoint_without_a_password() -> None:
    with pytest.raises(ValueError, match="password"):
        EndpointConfig("")


def test_the_password_is_in_no_representation() -> None:
    assert PASSWORD not in repr(EndpointConfig(PASSWORD))


def test_a_ping_needs_no_password(served: Served) -> None:
    for target in ("/ping", "/"):
        assert served.send("GET", target).body == b"Ok.\n"
    assert served.send("HEAD", "/ping").body == b""
    assert served.send("GET", "/other", headers=basic()).status == 404
