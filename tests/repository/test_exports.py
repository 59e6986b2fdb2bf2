"""Each package says what it exports, and can keep its word. The order is ruff's (RUF022)."""

import importlib

import pytest

from tests.repository.sources import ROOT, SOURCE_ROOTS, packages


@pytest.mark.parametrize("package", packages())
def test_every_exported_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    names: list[str] = getattr(module, "__all__", [])
    assert len(names) == len(set(names))
    assert [name for name in names if name.startswith("_") or not hasattr(module, name)] == []


@pytest.mark.parametrize("root", SOURCE_ROOTS)
def test_a_source_root_adds_typed_packages_to_the_namespace(root: str) -> None:
    namespace = ROOT / root / "runlane"
    assert not (namespace / "__init__.py").exists()
    packages_here = {init.parent for init in namespace.glob("*/__init__.py")}
    assert [package.name for package in packages_here if not (package / "py.typed").exists()] == []
