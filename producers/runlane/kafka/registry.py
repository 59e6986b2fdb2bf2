"""A schema registry of Confluent's kind: tells it our schemas and learns their ids (design, Wire formats)."""

from __future__ import annotations

import json
from typing import Any, Final

import httpx2

from runlane.contract.codec import SchemaIds
from runlane.contract.errors import Unavailable
from runlane.contract.schemas import SCHEMA_NAMES, Schema, history

_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"


def register_schemas(
    url: str,
    *,
    auth: tuple[str, str] | None = None,
    timeout: float = 10.0,
    transport: httpx2.BaseTransport | None = None,
) -> SchemaIds:
    """Register every shipped version of our schemas and return the registry's ids, for a ``Codec``.

    A schema's subject is its full name. Registering a known schema again returns its id, so any process may
    do this at its start. Raises ``Unavailable`` when the registry does not answer or refuses; its code is
    then ``registry_unavailable``.
    """
    client = httpx2.Client(base_url=url, auth=auth, timeout=timeout, transport=transport)
    with client:
        versions = [schema for name in SCHEMA_NAMES for schema in history(name).versions.values()]
        return SchemaIds({schema.fingerprint: _register(client, schema) for schema in versions})


def _register(client: httpx2.Client, schema: Schema) -> int:
    body = json.dumps({"schemaType": "AVRO", "schema": schema.text})
    try:
        answer = client.post(
            f"/subjects/{schema.name}/versions", content=body, headers={"Content-Type": _MEDIA_TYPE}
        )
        answer.raise_for_status()
        found: Any = answer.json()
        return int(found["id"])
    except (httpx2.HTTPError, KeyError, TypeError, ValueError) as error:
        text = f"the schema registry did not take {schema.label}: {type(error).__name__}"
        raise Unavailable(text, code="registry_unavailable") from error
