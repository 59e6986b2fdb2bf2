"""The golden bytes: what each release wrote for the samples.

A line of ``golden/<schema>.jsonl`` holds a sample's name, the writer's fingerprint and the bytes in hex.
Lines are only ever added, by ``python -m tests.wire.golden`` after a schema changed.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runlane.contract import codec
from runlane.contract.schemas import COMMAND, COMMITTED_RECORD, OUTCOME, history
from tests.wire import samples

FOLDER = Path(__file__).with_name("golden")


@dataclass(frozen=True)
class Kind:
    """How one kind of message is written and read, with its samples."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    samples: Mapping[str, Any]


KINDS = {
    COMMAND: Kind(codec.encode_command, codec.decode_command, samples.COMMANDS),
    OUTCOME: Kind(codec.encode_outcome, codec.decode_outcome, samples.OUTCOMES),
    COMMITTED_RECORD: Kind(codec.encode_record, codec.decode_record, samples.RECORDS),
}


@dataclass(frozen=True)
class Golden:
    """One line: which sample, written with which schema, as which bytes."""

    schema: str
    name: str
    fingerprint: int
    data: bytes


def load(schema: str) -> list[Golden]:
    """All lines of one schema."""
    lines = (FOLDER / f"{schema}.jsonl").read_text(encoding="utf-8").splitlines()
    parsed = [json.loads(line) for line in lines]
    return [
        Golden(schema, line["name"], int(line["fingerprint"], 16), bytes.fromhex(line["hex"]))
        for line in parsed
    ]


def add_missing() -> None:
    """Write the lines that the current schemas lack."""
    for schema, kind in KINDS.items():
        path = FOLDER / f"{schema}.jsonl"
        present = {(line.name, line.fingerprint) for line in load(schema)} if path.exists() else set()
        fingerprint = history(schema).current.fingerprint
        with path.open("a", encoding="utf-8") as file:
            for name, value in kind.samples.items():
                if (name, fingerprint) not in present:
                    line = {
                        "name": name,
                        "fingerprint": f"{fingerprint:016x}",
                        "hex": kind.encode(value).hex(),
                    }
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    add_missing()
