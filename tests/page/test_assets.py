"""The files of the page: small, typed, linted, and the vendored library is the published one."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from runlane.gateway.page import CONTENT_SECURITY_POLICY, STATIC, Page

HERE = Path(__file__).parent
TOOLS = HERE / "node_modules" / ".bin"
MOST_BYTES = 40 * 1024
LIT_HTML = "b878e7f95dec8a9b6e9b217faca6b6a11bad82ebc44c0caa77419ed83edd81f2"  # lit-html 3.3.3 as published


def scripts() -> list[Path]:
    """The page's own modules."""
    return [path for path in sorted(STATIC.rglob("*.js")) if "vendor" not in path.parts]


def test_all_that_a_browser_loads_is_at_most_40_kb_compressed() -> None:
    page = Page()
    sizes = {name: len(asset.packed) for name, asset in page.files.items()}
    assert sum(sizes.values()) + len(page.document.packed) <= MOST_BYTES, sizes


def test_the_vendored_library_is_the_published_file_with_its_licence_beside_it() -> None:
    library = STATIC / "vendor" / "lit-html.js"
    assert hashlib.sha256(library.read_bytes()).hexdigest() == LIT_HTML
    assert "BSD 3-Clause" in (library.parent / "lit-html.LICENSE").read_text()


@pytest.mark.parametrize("path", scripts(), ids=lambda path: path.name)
def test_a_script_builds_no_markup_and_runs_no_text(path: Path) -> None:
    text = path.read_text()
    banned = (
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|unsafeHTML|srcdoc"
        r"|setAttribute\(\"(on|style)"
    )
    assert re.findall(banned, text) == []


@pytest.mark.parametrize("path", scripts(), ids=lambda path: path.name)
def test_a_module_imports_files_of_the_page_only(path: Path) -> None:
    sources = re.findall(
        r'^(?:import|export) .*from "([^"]+)"|import\("([^"]+)"\)\.', path.read_text(), re.MULTILINE
    )
    named = [one or other for one, other in sources]
    assert all((path.parent / name).is_file() for name in named), named


def test_every_file_is_named_by_the_content_of_all_so_it_may_be_cached_for_ever(tmp_path: Path) -> None:
    copy = shutil.copytree(STATIC, tmp_path / "static")
    assert Page(copy).version == Page().version
    (copy / "run.css").write_text("body { color: red }")
    assert Page(copy).version != Page().version


def test_the_document_names_what_it_loads() -> None:
    page = Page()
    text = page.document.body.decode()
    assert set(re.findall(r'(?:href|src)="/static/\w+/([^"]+)"', text)) == set(page.files)
    assert "{" not in text


def test_every_module_is_served_after_those_that_it_imports_and_none_is_left_out() -> None:
    page = Page()
    order = page.modules()
    assert sorted(order) == [path.name for path in scripts()]
    for at, name in enumerate(order):
        imported = re.findall(r'^import .* from "\./([\w-]+\.js)"', (STATIC / name).read_text(), re.MULTILINE)
        assert set(imported) <= set(order[:at])


def test_no_two_modules_use_a_name_at_their_top() -> None:
    pattern = re.compile(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
    names = [name for path in scripts() for name in pattern.findall(path.read_text())]
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_what_is_served_is_what_is_written_without_comments_and_imports() -> None:
    page = Page()
    served = page.files["app.js"].body.decode()
    written = "".join((STATIC / name).read_text() for name in page.modules())
    bare = re.sub(
        r"^\s*//.*$|^import .*$|^export ",
        "",
        re.sub(r"/\*\*.*?\*/", "", written, flags=re.DOTALL),
        flags=re.MULTILINE,
    )
    assert "/**" not in served
    assert re.sub(r"\s", "", served.partition("\n")[2]) == re.sub(r"\s", "", bare)


def test_the_policy_allows_no_inline_script_style_or_foreign_origin() -> None:
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "http" not in CONTENT_SECURITY_POLICY
    for directive in (
        "default-src 'none'",
        "require-trusted-types-for 'script'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ):
        assert directive in CONTENT_SECURITY_POLICY


def test_the_document_has_no_inline_script_or_style() -> None:
    text = (STATIC / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", text) == []


def run_tool(name: str, *arguments: str) -> None:
    """Run a tool of package.json; skipped by name where it is not installed."""
    if not (TOOLS / name).exists():
        pytest.skip(f"{name} is not installed: run npm ci in tests/page")
    done = subprocess.run([TOOLS / name, *arguments], cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_scripts_are_well_typed() -> None:
    run_tool("tsc", "-p", ".")


@pytest.mark.slow
def test_the_scripts_and_styles_are_lint_free() -> None:
    run_tool("biome", "lint", "--error-on-warnings", str(STATIC))


def test_the_tools_lock_names_no_registry() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
