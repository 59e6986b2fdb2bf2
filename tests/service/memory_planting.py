"""Hiding the traces of what was spoiled in a memory: a resealed one has true digests and hashes."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from runlane.service.verify.rows import MemoryRow, digest_rows
from tests.service.planting import changed, the

Rows = list[MemoryRow]
Spoil = Callable[[Rows], Rows]


def header_changed(rows: Rows, partition: int, block: int, /, **values: Any) -> Rows:
    """Change a header and seal the chain anew from it on."""
    row = the(rows, kind="commit", partition=partition, block=block)
    body = json.dumps(json.loads(row.body) | values)
    return resealed(changed(rows, row, body=body), digests=False)


def resealed(rows: Rows, *, digests: bool = True) -> Rows:
    """Compute the digests and hashes of all blocks anew; rows keep their numbers, headers their counts."""
    blocks: dict[tuple[int, int, int], Rows] = defaultdict(list)
    for row in rows:
        blocks[row.partition, row.generation, row.block].append(row)
    hashes: dict[int, str] = defaultdict(str)
    found: Rows = []
    for (partition, _, _), block in sorted(blocks.items()):
        *others, commit = sorted(block, key=lambda row: (row.kind == "commit", row.row))
        header = json.loads(commit.body) | {"prev_hash": hashes[partition]}
        if digests:
            header |= _digests(others)
        body = json.dumps(header, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        hashes[partition] = hashlib.sha256(body.encode()).hexdigest()
        stated = {"events": header["epoch"], "position": header["last"], "type": header["kind"]}
        found += [*others, commit._replace(body=body, digest=hashes[partition], **stated)]
    return found


def _digests(rows: Rows) -> dict[str, Any]:
    texts: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        texts[row.lane].append(row.text())
    return {"lane_digests": sorted([lane, digest_rows(found)] for lane, found in texts.items())}
