"""Where the repository's files are."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = ("schemas", "producers", "processors", "sinks")
TREES = (*SOURCE_ROOTS, "tests", "bench")


def python_files(*trees: str) -> Iterator[Path]:
    """Each Python file under the named top-level folders."""
    for tree in trees:
        yield from sorted((ROOT / tree).rglob("*.py"))


def name_of(path: Path) -> str:
    """The path inside the repository, for a message or a test's name."""
    return path.relative_to(ROOT).as_posix()


def packages() -> list[str]:
    """Each package `runlane.*`, sub-packages included, by its dotted name."""
    return sorted(
        ".".join(init.parent.relative_to(ROOT / root).parts)
        for root in SOURCE_ROOTS
        for init in (ROOT / root).rglob("__init__.py")
    )
