"""Judges requests and responses by the providers' own SDKs: their typed models and service descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import anthropic.types
import botocore.loaders  # type: ignore[import-untyped]
import botocore.model  # type: ignore[import-untyped]
import botocore.validate  # type: ignore[import-untyped]
import openai.types.chat
import openai.types.responses
from pydantic import BaseModel, TypeAdapter

from runlane.transcript.providers import Wire

Adapter = TypeAdapter[Any]
ANTHROPIC_MESSAGES: Adapter = TypeAdapter(list[anthropic.types.MessageParam])
ANTHROPIC_SYSTEM: Adapter = TypeAdapter(list[anthropic.types.TextBlockParam])
OPENAI_CHAT: Adapter = TypeAdapter(list[openai.types.chat.ChatCompletionMessageParam])
OPENAI_RESPONSES: Adapter = TypeAdapter(openai.types.responses.ResponseInputParam)


def check_anthropic(request: Wire) -> None:
    assert set(request) <= {"system", "messages"}
    accept(ANTHROPIC_MESSAGES, request["messages"])
    accept(ANTHROPIC_SYSTEM, request.get("system", []))


def check_openai_chat(request: Wire) -> None:
    assert set(request) == {"messages"}
    accept(OPENAI_CHAT, request["messages"])


def check_openai_responses(request: Wire) -> None:
    assert set(request) == {"input"}
    accept(OPENAI_RESPONSES, request["input"])


def check_bedrock(request: Wire) -> None:
    check_bedrock_shape("ConverseRequest", {"modelId": "m", **request})


def check_bedrock_shape(name: str, value: Any) -> None:
    shape = service().shape_for(name)
    report = botocore.validate.ParamValidator().validate(value, shape)
    assert not report.has_errors(), report.generate_report()
    assert list(faults(shape, value, name)) == []


def accept(adapter: Adapter, value: Any) -> None:
    """The models take the value and keep all of it: a key that they do not know would be gone."""
    assert exhausted(adapter.validate_python(value)) == value


def exhausted(value: Any) -> Any:
    """Typed dicts with iterables are validated while they are read."""
    if isinstance(value, BaseModel):
        return exhausted(value.model_dump(exclude_unset=True))
    if isinstance(value, dict):
        return {key: exhausted(item) for key, item in value.items()}
    if isinstance(value, str | bytes | int | float | None):
        return value
    return [exhausted(item) for item in value]


@cache
def service() -> botocore.model.ServiceModel:
    return botocore.model.ServiceModel(
        botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    )


def faults(shape: Any, value: Any, where: str) -> Iterator[str]:
    """Enumerations, patterns and lengths, which botocore leaves to the service."""
    if shape.type_name == "structure":
        if getattr(shape, "is_tagged_union", False) and len(value) != 1:
            yield f"{where}: union of {sorted(value)}"
        if not getattr(shape, "is_document_type", False):
            for name, item in value.items():
                yield from faults(shape.members[name], item, f"{where}.{name}")
    elif shape.type_name == "list":
        for item in value:
            yield from faults(shape.member, item, f"{where}[]")
    elif shape.type_name == "string":
        metadata = shape.metadata
        if shape.enum and value not in shape.enum:
            yield f"{where}: not one of {shape.enum}"
        if len(value) > metadata.get("max", len(value)) or len(value) < metadata.get("min", 0):
            yield f"{where}: length {len(value)}"
        if "pattern" in metadata and not re.fullmatch(metadata["pattern"], value, re.DOTALL):
            yield f"{where}: pattern"
