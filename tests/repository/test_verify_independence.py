"""`runlane verify` judges journal and memory without the code that wrote them."""

from pathlib import Path

from tests.repository.imports import imported_names
from tests.repository.sources import ROOT, name_of

SERVICE = ROOT / "processors" / "runlane" / "service"
WRITERS = ("runlane.owner", "runlane.contract.decide", "runlane.store")


def verify_files() -> list[Path]:
    return sorted([*SERVICE.glob("verify*.py"), *SERVICE.glob("verify*/**/*.py")])


def service_file(name: str) -> Path | None:
    """The file of a module `runlane.service.*`; nothing for any other name."""
    head, _, tail = name.partition("runlane.service.")
    if head or not tail:
        return None
    base = SERVICE.joinpath(*tail.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()), None)


def reached_from(files: list[Path]) -> set[Path]:
    """The files, and those of the service package that they import, directly or not.

    No package below the service can import the owner (import-linter), so this is every way there.
    """
    reached: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += [found for found in map(service_file, imported_names(path)) if found]
    return reached


def test_verify_imports_neither_the_owner_nor_the_decision_nor_the_store() -> None:
    files = verify_files()
    assert files
    faults = {
        f"{name_of(path)} imports {name}"
        for path in reached_from(files)
        for name in imported_names(path)
        if name.startswith(WRITERS)
    }
    assert faults == set()
