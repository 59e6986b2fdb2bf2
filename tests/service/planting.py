"""Ways to spoil a sound journal, and to hide the traces: a resealed journal has true digests and hashes."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

from runlane.service.verify.rows import AnyRow, Row, digest_rows

Rows = list[Row]
Spoil = Callable[[Rows], Rows]
RowT = TypeVar("RowT", bound=AnyRow)


def the(rows: list[RowT], **wanted: Any) -> RowT:
    """Return the first row with these values."""
    return next(row for row in rows if all(getattr(row, name) == value for name, value in wanted.items()))


def without(rows: list[RowT], *gone: RowT) -> list[RowT]:
    return [row for row in rows if row not in gone]


def changed(rows: list[RowT], row: RowT, /, **values: Any) -> list[RowT]:
    return [one._replace(**values) if one == row else one for one in rows]


def header_changed(rows: Rows, partition: int, block: int, /, **values: Any) -> Rows:
    """Change a header and seal the chain anew from it on."""
    row = the(rows, kind="commit", partition=partition, block=block)
    body = json.dumps(json.loads(row.body) | values)
    return resealed(changed(rows, row, body=body), digests=False)


def resealed(rows: Rows, *, digests: bool = True, counts: bool = True) -> Rows:
    """Renumber the rows of each block and compute its counts, digests and hashes anew."""
    blocks: dict[tuple[int, int, int], Rows] = defaultdict(list)
    for row in rows:
        blocks[row.partition, row.generation, row.block].append(row)
    hashes: dict[int, str] = defaultdict(str)
    found: Rows = []
    for (partition, _, _), block in sorted(blocks.items()):
        block.sort(key=lambda row: (row.kind == "commit", row.row))
        numbered = [row._replace(row=number) for number, row in enumerate(block)]
        *others, commit = numbered if digests and _whole(block) else block
        header = json.loads(commit.body) | {"prev_hash": hashes[partition]}
        if digests:
            header |= _digests(others, header)
        if digests and counts and _whole(block):
            header |= {
                "rows": len(block),
                "commands": sum(row.kind == "answer" for row in others),
                "records": sum(row.kind == "record" for row in others),
            }
        body = json.dumps(header, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        hashes[partition] = hashlib.sha256(body.encode()).hexdigest()
        sealed = commit._replace(
            body=body,
            digest=hashes[partition],
            seq=header["epoch"],
            position=header["last"],
            type=header["kind"],
        )
        found += [*others, sealed]
    return found


def _whole(block: Rows) -> bool:
    """Whether no row of the block was erased by a purge."""
    return all(lane != "s/purged" for lane, _ in json.loads(block[-1].body)["lane_digests"])


def _digests(rows: Rows, header: dict[str, Any]) -> dict[str, Any]:
    texts: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        texts[row.lane].append(row.text())
    erased = {lane: digest for lane, digest in header["lane_digests"] if lane == "s/purged"}
    lanes = {lane: digest_rows(found) for lane, found in texts.items()} | erased
    return {"lane_digests": sorted(map(list, lanes.items()))}
