"""Which modules a file's text imports."""

import ast
from collections.abc import Iterator
from pathlib import Path


def imported_modules(path: Path) -> Iterator[str]:
    """The module of each import statement, wherever it stands, by its dotted name."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module)):
                yield module
            case _:
                pass


def imported_names(path: Path) -> Iterator[str]:
    """As `imported_modules`, and each name imported from a module, which may be a module itself."""
    yield from imported_modules(path)
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{name.name}" for name in names)
            case _:
                pass
