"""How long an owner waits for a lane of 10,000 records that it does not hold; the last line is JSON."""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from itertools import islice
from typing import Final

from bench.fill import Filler
from bench.stack import CONFIG
from bench.workload import commands
from runlane.store.lanes import LaneReader

TARGET_MS: Final = 50
RECORDS: Final = 10_000
_BLOCK: Final = 1_000
_OTHERS: Final = 200
_LOADS: Final = 21


def main() -> None:
    """Fill a journal with one long lane among many short ones; load the long one again and again."""
    parser = argparse.ArgumentParser(prog="python -m bench.cold_lane", description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS, help="records of the lane")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        filler = Filler(directory)
        long = commands(1, options.records, prefix="long")
        short = commands(_OTHERS, options.records, prefix="short")
        while block := [*islice(long, _BLOCK), *islice(short, _BLOCK)]:
            filler.decide(block)
        pool = filler.pool
        del filler
        # As in the owner's process.
        gc.collect()
        gc.freeze()
        reader = LaneReader(pool)
        seconds: list[float] = []
        for _ in range(_LOADS):
            begun = time.perf_counter()
            state = reader.load("r/long-000000", max_bytes=CONFIG.bounds.lane_bytes)
            seconds.append(time.perf_counter() - begun)
            if state.next_lane_seq != options.records + 1 or not state.keys_complete:
                raise RuntimeError("the lane did not come whole")
        pool.close()
    figures = {"first_ms": 1_000 * seconds[0], "p50_ms": 1_000 * statistics.median(seconds)}
    print(f"a lane of {options.records} records: target {TARGET_MS} ms or less")
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
