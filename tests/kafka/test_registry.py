"""A schema registry learns every shipped schema and gives ids to write with."""

import json

import httpx2
import pytest

from runlane.contract.codec import Codec
from runlane.contract.errors import Unavailable
from runlane.contract.schemas import SCHEMA_NAMES, history, parse
from runlane.kafka.registry import register_schemas
from tests.wire import samples

ANSWERS = {
    "refused": httpx2.Response(409, json={"error_code": 409}),
    "not json": httpx2.Response(200, text="<html>"),
    "no id": httpx2.Response(200, json={}),
    "a list": httpx2.Response(200, json=[]),
}


class Registry:
    """Gives each schema text an id, the same one each time."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        schema = json.loads(request.content)["schema"]
        return httpx2.Response(200, json={"id": self.ids.setdefault(schema, 70_000 + len(self.ids))})


def test_every_shipped_schema_gets_an_id_to_write_with() -> None:
    registry = Registry()
    ids = register_schemas("http://registry", transport=httpx2.MockTransport(registry))
    assert set(ids.by_fingerprint) == {crc for name in SCHEMA_NAMES for crc in history(name).versions}
    assert {parse(text).fingerprint: number for text, number in registry.ids.items()} == ids.by_fingerprint
    command = samples.COMMANDS["claim_run"]
    assert Codec(ids).decode_command(Codec(ids).encode_command(command)) == command


def test_a_schema_is_registered_under_its_full_name_with_the_user_s_word() -> None:
    registry = Registry()
    register_schemas("http://registry/base", auth=("u", "p"), transport=httpx2.MockTransport(registry))
    request = registry.requests[0]
    assert request.url.path == "/base/subjects/runlane.Command/versions"
    assert request.headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"
    assert request.headers["Authorization"].startswith("Basic ")


def test_registering_again_gives_the_same_ids() -> None:
    transport = httpx2.MockTransport(Registry())
    assert register_schemas("http://registry", transport=transport) == register_schemas(
        "http://registry", transport=transport
    )


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_that_is_no_id_is_an_error(answer: httpx2.Response) -> None:
    with pytest.raises(Unavailable) as caught:
        register_schemas("http://registry", transport=httpx2.MockTransport(lambda _: answer))
    assert caught.value.code == "registry_unavailable"


def test_a_registry_that_is_away_is_an_error() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    with pytest.raises(Unavailable) as caught:
        register_schemas("http://registry", transport=httpx2.MockTransport(refuse))
    assert caught.value.code == "registry_unavailable"
