"""Activity windows: what each agent did, minute by minute, folded from committed records (design, Topics).

    fold = ActivityFold(partition)
    fold.take(record)
    messages = [share_message(share) for share in fold.news()]
    windows = merge(shares)

Pure. A partition's fold makes that partition's *share* of each window; the shares of all partitions add up.
"""

from runlane.contract.activity.fold import ActivityFold
from runlane.contract.activity.latency import bucket_of, percentile
from runlane.contract.activity.shares import (
    ACTIVITY_SCHEMA,
    WINDOW_SECONDS,
    ActivityShare,
    decode_share,
    encode_share,
    share_message,
    window_start,
)
from runlane.contract.activity.windows import ActivityWindow, merge

__all__ = [
    "ACTIVITY_SCHEMA",
    "WINDOW_SECONDS",
    "ActivityFold",
    "ActivityShare",
    "ActivityWindow",
    "bucket_of",
    "decode_share",
    "encode_share",
    "merge",
    "percentile",
    "share_message",
    "window_start",
]
