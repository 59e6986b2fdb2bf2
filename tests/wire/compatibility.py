"""The rules by which a schema may grow, so that every release reads every other one's messages.

Nothing is removed, renamed, moved or retyped; a new field comes last and has a default; a new union branch
comes last.
"""

import json
from collections.abc import Iterator
from typing import Any

Definition = Any


def breaks(old: str, new: str) -> list[str]:
    """What in the schema text `new` breaks a rule against `old`; empty when nothing does."""
    return list(_compare(_inline(json.loads(old), {}), _inline(json.loads(new), {}), "message"))


def _inline(definition: Definition, named: dict[str, Definition]) -> Definition:
    """The definition with every reference to a named record replaced by the record."""
    if isinstance(definition, str):
        return named.get(definition, definition)
    if isinstance(definition, list):
        return [_inline(branch, named) for branch in definition]
    if definition["type"] == "record":
        fields = [field | {"type": _inline(field["type"], named)} for field in definition["fields"]]
        named[definition["name"]] = definition | {"fields": fields}
        return named[definition["name"]]
    if definition["type"] in {"map", "array"}:
        inner = "values" if definition["type"] == "map" else "items"
        return definition | {inner: _inline(definition[inner], named)}
    return definition["type"]


def _compare(old: Definition, new: Definition, where: str) -> Iterator[str]:
    if isinstance(old, list) and isinstance(new, list):
        yield from _compare_all(old, new, where)
        if len(new) < len(old):
            yield f"{where}: a branch was removed"
    elif isinstance(old, dict) and isinstance(new, dict) and old["type"] == new["type"]:
        if old["type"] == "record":
            yield from _compare_records(old, new, where)
        else:
            inner = "values" if old["type"] == "map" else "items"
            yield from _compare(old[inner], new[inner], where)
    elif old != new:
        yield f"{where}: the type changed"


def _compare_all(old: list[Definition], new: list[Definition], where: str) -> Iterator[str]:
    for number, (before, after) in enumerate(zip(old, new, strict=False)):
        yield from _compare(before, after, f"{where}[{number}]")


def _compare_records(old: Definition, new: Definition, where: str) -> Iterator[str]:
    if old["name"] != new["name"]:
        yield f"{where}: {old['name']} became {new['name']}"
        return
    where = f"{where}.{old['name']}"
    for before, after in zip(old["fields"], new["fields"], strict=False):
        if before["name"] != after["name"]:
            yield f"{where}: {before['name']} became {after['name']}"
        yield from _compare(before["type"], after["type"], f"{where}.{before['name']}")
    if len(new["fields"]) < len(old["fields"]):
        yield f"{where}: a field was removed"
    for added in new["fields"][len(old["fields"]) :]:
        if "default" not in added:
            yield f"{where}.{added['name']}: a new field needs a default"
