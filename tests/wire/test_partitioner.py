"""The partition of a key is the Java client's.

`murmur2/vectors.jsonl` is what `murmur2/Vectors.java` printed, run by Java with the kafka-clients jar that
`tests/harness/pom.xml` pins: `java -cp '<jars>/*' tests/wire/murmur2/Vectors.java`.
"""

import json
import subprocess
from pathlib import Path

import confluent_kafka
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runlane.contract.partitioner import murmur2, partition_for
from tests.harness import KafkaUnavailable, java, kafka_libs

FOLDER = Path(__file__).with_name("murmur2")
VECTORS = FOLDER / "vectors.jsonl"


def test_hashes_and_partitions_are_the_java_client_s() -> None:
    lines = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 77
    for line in lines:
        key = bytes.fromhex(line["key"])
        assert murmur2(key) == line["murmur2"] % 2**32
        assert {count: partition_for(key, int(count)) for count in line["partitions"]} == line["partitions"]


@given(st.binary(min_size=1, max_size=300), st.integers(1, 1000))
def test_the_producer_s_own_partitioner_agrees(key: bytes, count: int) -> None:
    assert partition_for(key, count) == confluent_kafka.murmur2(key, count)


@pytest.mark.kafka
def test_the_vectors_are_what_the_pinned_java_client_prints() -> None:
    try:
        command = [java(), "-cp", f"{kafka_libs()}/*", str(FOLDER / "Vectors.java")]
    except KafkaUnavailable as missing:
        pytest.skip(str(missing))
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert printed.stdout == VECTORS.read_text(encoding="utf-8")
