"""docker-compose.yml keeps to the compose specification and to our own rules."""

import hashlib
import importlib
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.harness.kafka_libs import POM
from tests.repository.sources import ROOT

SCHEMA = Path(__file__).parent / "compose-spec" / "compose-spec.json"
SCHEMA_SHA256 = "46b7d35f19dd93a05f8fea530291bf84d881c1791ec167ecf0e6fb94e639d496"
ONE_SHOT = {"topics", "migrate"}
POM_NAMESPACE = {"m": "http://maven.apache.org/POM/4.0.0"}
KNOWN_SETTINGS = """
import chdb
for table in ("settings", "server_settings"):
    print(chdb.query(f"SELECT name FROM system.{table}", "TabSeparated"))
"""


@cache
def text() -> str:
    return (ROOT / "docker-compose.yml").read_text()


@cache
def compose() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(text())
    return parsed


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found


def clickhouse_config(name: str) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "clickhouse" / name).read_text())
    return parsed


def specification() -> Any:
    return jsonschema.Draft7Validator(json.loads(SCHEMA.read_bytes()))


def kafka_under_test() -> str | None:
    return ET.parse(POM).findtext("m:dependencies/m:dependency/m:version", namespaces=POM_NAMESPACE)


def test_it_keeps_to_the_compose_specification() -> None:
    assert hashlib.sha256(SCHEMA.read_bytes()).hexdigest() == SCHEMA_SHA256
    errors = specification().iter_errors(compose())
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


def test_the_schema_sees_a_fault() -> None:
    assert not specification().is_valid(
        {"services": {"kafka": {"image": "apache/kafka:4.1.1", "port": ["9092"]}}}
    )


def test_ports_are_open_on_loopback_only() -> None:
    ports = [port for service in services().values() for port in service.get("ports", [])]
    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_images_are_those_the_tests_run() -> None:
    assert services()["kafka"]["image"] == f"apache/kafka:{kafka_under_test()}"
    engine = version("chdb-core").rsplit(".", 1)[0]
    assert services()["clickhouse"]["image"] == f"clickhouse/clickhouse-server:{engine}"
    ours = {service["image"] for name, service in services().items() if name not in {"kafka", "clickhouse"}}
    assert ours == {f"runlane:{version('runlane')}"}


def test_what_keeps_running_has_a_health_check_and_is_waited_for() -> None:
    assert {name for name, service in services().items() if "healthcheck" not in service} == ONE_SHOT
    for service in services().values():
        for name, wait in service.get("depends_on", {}).items():
            healthy = "service_completed_successfully" if name in ONE_SHOT else "service_healthy"
            assert wait["condition"] == healthy


def test_data_is_in_named_volumes() -> None:
    mounts = [mount for name in ("kafka", "clickhouse") for mount in services()[name]["volumes"]]
    named = {mount.split(":")[0] for mount in mounts if not mount.startswith("./")}
    assert named == set(compose()["volumes"])
    files = [mount.split(":") for mount in mounts if mount.startswith("./")]
    assert all((ROOT / source).is_file() and mode == "ro" for source, _, mode in files)


def test_every_secret_is_in_the_example_of_the_environment_file() -> None:
    example = (ROOT / "deploy" / "env.example").read_text()
    offered = set(re.findall(r"^([A-Z_]+)=$", example, re.MULTILINE))
    assert set(re.findall(r"\$\{([A-Z_]+):\?", text())) == offered
    assert set(re.findall(r"\$\{?([A-Za-z_]+)", text())) == offered


def test_every_role_is_a_command() -> None:
    roles = [service["command"][0] for service in services().values() if "command" in service]
    assert sorted(roles) == ["feed", "gateway", "memory-sink", "migrate", "owner", "topics"]
    command_line: Any = importlib.import_module("runlane.service.cli")
    assert set(roles) <= set(command_line.COMMANDS)


def test_clickhouse_knows_every_setting_of_ours() -> None:
    listed = subprocess.run(
        [sys.executable, "-c", KNOWN_SETTINGS], capture_output=True, text=True, check=True
    )
    ours = {*clickhouse_config("config.yaml"), *clickhouse_config("users.yaml")["profiles"]["default"]}
    assert ours <= set(listed.stdout.split())


@pytest.mark.parametrize("name", ["requirements/all.txt", "requirements/build.txt", "pyproject.toml"])
def test_the_image_is_built_from_hashed_requirements(name: str) -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    assert (ROOT / name).is_file()
    assert name.rpartition("/")[2] in dockerfile
    assert all(
        "--require-hashes" in line or "--no-deps" in line
        for line in re.findall(r"pip (?:install|wheel).*", dockerfile)
    )
