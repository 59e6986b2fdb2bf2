"""Probes and the OpenAPI document."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest

from runlane.contract.errors import Unavailable
from runlane.gateway import Access, create_app
from tests.gateway.conftest import TOKENS, As
from tests.gateway.live.world import World
from tests.gateway.memory_reader import MemoryReader, a_record


async def test_probes_need_no_token(as_token: As) -> None:
    client = as_token("")

    assert (await client.get("/livez")).json() == {"ok": True, "faults": {}}
    assert (await client.get("/readyz")).json() == {"ok": True, "faults": {}}


async def test_a_gateway_whose_journal_does_not_answer_is_not_ready(
    worker: httpx2.AsyncClient, reader: MemoryReader
) -> None:
    reader.failure = Unavailable("down")

    answer = await worker.get("/readyz")

    assert answer.status_code == 503
    assert answer.json() == {"ok": False, "faults": {"journal": "unavailable"}}
    assert (await worker.get("/livez")).status_code == 200


async def test_a_given_probe_decides(reader: MemoryReader) -> None:
    async def stuck() -> Mapping[str, str]:
        return {"owner": "no progress"}

    transport = httpx2.ASGITransport(create_app(reader, Access(TOKENS), live=stuck, ready=stuck))
    async with httpx2.AsyncClient(transport=transport, base_url="http://gateway") as client:
        answers = [await client.get(path) for path in ("/livez", "/readyz")]

    assert [answer.status_code for answer in answers] == [503, 503]
    assert answers[0].json()["faults"] == {"owner": "no progress"}


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/v1/runs", "/v1/runs"),
        ("/v1/runs/r1", "/v1/runs/{run_id}"),
        ("/v1/runs/r1/records", "/v1/runs/{run_id}/records"),
        ("/v1/sessions", "/v1/sessions"),
        ("/v1/sessions/s1", "/v1/sessions/{session_id}"),
        ("/v1/sessions/s1/runs", "/v1/sessions/{session_id}/runs"),
        ("/v1/runs/none", "/v1/runs/{run_id}"),
    ],
)
async def test_answers_are_as_the_openapi_document_says(
    worker: httpx2.AsyncClient, reader: MemoryReader, path: str, template: str
) -> None:
    reader.add_session("s1")
    reader.add_run("r1", "s1")
    reader.records.append(a_record("r1", "s1", 1))
    document = (await worker.get("/openapi.json")).json()

    answer = await worker.get(path)

    responses = document["paths"][template]["get"]["responses"]
    media_type = answer.headers["content-type"]
    schema = responses[str(answer.status_code)]["content"][media_type]["schema"]
    jsonschema.validate(answer.json(), {**schema, "components": document["components"]})


async def test_the_document_names_tokens_and_problems(worker: httpx2.AsyncClient) -> None:
    document = (await worker.get("/openapi.json")).json()

    assert document["security"] == [{"token": []}]
    assert document["paths"]["/livez"]["get"]["security"] == []
    assert "422" not in document["paths"]["/v1/runs"]["get"]["responses"]
    assert "Problem" in document["components"]["schemas"]


def test_every_path_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "read-api.md").read_text()

    documented = re.findall(r"`(GET|POST|DELETE) (/\S+?)`", text)
    assert _operations(World().app.openapi()) == {(method.lower(), path) for method, path in documented}


def _operations(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {(method, path) for path, methods in document["paths"].items() for method in methods}
