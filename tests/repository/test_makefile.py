"""README and Makefile name the same commands."""

import re
import subprocess

from tests.repository.sources import ROOT

TARGETS = {"help", "demo", "test", "check", "bench", "requirements"}


def explained_targets() -> set[str]:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {line.split()[1] for line in listed.stdout.splitlines() if line.startswith("make ")}


def test_help_lists_every_target() -> None:
    assert explained_targets() == TARGETS


def test_every_target_the_readme_names_exists() -> None:
    named = set(re.findall(r"\bmake ([a-z]+)", (ROOT / "README.md").read_text()))
    assert {"demo", "test"} <= named <= TARGETS


def test_ci_runs_the_readmes_commands_and_skips_nothing() -> None:
    lines = {line.split(" || ")[0] for line in (ROOT / ".ci" / "run").read_text().splitlines()}
    promises = {f"export RUNLANE_REQUIRE_{name}=1" for name in ("KAFKA", "BROWSER")}
    assert {"make check", "make test"} | promises <= lines
