"""What the package shows, and what it loads."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import runlane.client
from runlane.client import Run, RunStore, SyncRun, SyncRunStore

PAIRS = [(RunStore, SyncRunStore), (Run, SyncRun)]


def test_every_public_name_is_there_and_sorted() -> None:
    assert runlane.client.__all__ == sorted(runlane.client.__all__)
    for name in runlane.client.__all__:
        value = getattr(runlane.client, name)
        assert value.__name__ == name
        assert value.__doc__
    assert set(runlane.client.__all__) <= set(dir(runlane.client))
    with pytest.raises(AttributeError, match="Nonsense"):
        getattr(runlane.client, "Nonsense")  # noqa: B009 - no type checker may know it


def test_importing_the_package_and_its_pytest_plugin_loads_nothing_heavy() -> None:
    script = (
        "import runlane.client, runlane.client.pytest_plugin, sys;"
        "print([m for m in ('pydantic', 'confluent_kafka', 'fastavro', 'httpx2') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def public(kind: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(getattr(kind, name))
        for name in dir(kind)
        if not name.startswith("_") and callable(getattr(kind, name))
    }


@pytest.mark.parametrize(("twin", "sync"), PAIRS)
def test_the_sync_twin_has_the_same_methods_with_the_same_parameters(twin: type, sync: type) -> None:
    there, here = public(twin), public(sync)
    assert set(here) == set(there)
    for name, signature in there.items():
        parameters = [
            (p.name, p.kind, p.default, p.annotation)
            for p in signature.parameters.values()
            if p.name != "on_sent"
        ]
        assert parameters == [
            (p.name, p.kind, p.default, p.annotation) for p in here[name].parameters.values()
        ], name
        if name not in ("connect", "from_connection", "from_env", "run", "child", "post", "follow"):
            assert here[name].return_annotation == signature.return_annotation, name
