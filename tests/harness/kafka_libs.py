"""The jars of a real Kafka: fetched once from Maven Central, kept in `.cache/kafka-libs`."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

POM = Path(__file__).with_name("pom.xml")
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "kafka-libs"
FETCH_SECONDS = 480


class KafkaUnavailable(Exception):
    """This machine cannot run a Kafka broker; the text says what is missing."""


def java() -> str:
    """Path of the `java` command.

    Raises:
        KafkaUnavailable: neither `JAVA_HOME` nor the search path has one.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        raise KafkaUnavailable("a real Kafka needs Java 17 or later: no java command found")
    return found


def kafka_libs() -> Path:
    """Folder with the jars that `pom.xml` pins; fetches them with Maven when they are not there yet.

    The folder is named after the pom's digest and appears whole, so processes that start together
    may both fetch but never see half a folder.

    Raises:
        KafkaUnavailable: the jars are not cached and there is no `mvn` command.
        RuntimeError: Maven failed; the text holds its output.
    """
    libs = CACHE / hashlib.sha256(POM.read_bytes()).hexdigest()[:16]
    if libs.is_dir():
        return libs
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailable("a real Kafka needs Maven to be fetched: no mvn command found")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="fetch-") as scratch:
        fetched = Path(scratch) / "libs"
        _copy_dependencies(maven, into=fetched)
        try:
            fetched.rename(libs)
        except OSError:
            # Another process was first: its folder came from the same pom.
            if not libs.is_dir():
                raise
    return libs


def _copy_dependencies(maven: str, *, into: Path) -> None:
    command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
    done = subprocess.run(
        [*command, "-DincludeScope=runtime", f"-DoutputDirectory={into}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=FETCH_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"mvn dependency:copy-dependencies failed:\n{done.stdout[-4000:]}")
