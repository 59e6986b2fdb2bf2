-- The journal: every row of every block. docs/journal.md says what its rows and columns are.
-- Its one order holds each lane together: commit rows (in no lane) by partition and block, a lane's states, its records
-- by lane_seq. Skip indexes find a run, a key, a seq inside its lane, and the newest blocks. No projection: it costs 20 %
-- of an insert and a third of the disk, and a new part's projection is not covered by the part's fsync.
-- It is parted by "part" alone: the zeros only make each part remember which partitions and blocks are in it, so that a
-- read-back opens the newest parts and no others.
CREATE TABLE IF NOT EXISTS journal
(
    part           UInt32,
    partition      UInt32,
    generation     UInt32,
    block          UInt64,
    row            UInt32,
    time           Int64,
    kind           LowCardinality(String),
    lane           String,
    lane_seq       UInt64,
    run_id         String,
    seq            UInt64,
    session_id     String,
    agent_id       LowCardinality(String),
    turn_id        String,
    parent_run_id  String,
    event_key      String,
    type           LowCardinality(String),
    at             Int64,
    status         LowCardinality(String),
    code           LowCardinality(String),
    position       Int64,
    correlation_id String,
    reply          Int32,
    reason         String,
    labels         String,
    digest         String,
    body           String CODEC(ZSTD(1)),
    tool           LowCardinality(String),
    model          LowCardinality(String),
    input_tokens   UInt64,
    output_tokens  UInt64,
    total_tokens   UInt64,
    size           UInt32,
    not_after      Int64,
    INDEX of_run run_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX of_key event_key TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX of_seq seq TYPE minmax GRANULARITY 1,
    INDEX of_kind kind TYPE set(8) GRANULARITY 1,
    INDEX of_block block TYPE minmax GRANULARITY 1,
    INDEX of_position position TYPE minmax GRANULARITY 1,
    CONSTRAINT in_time CHECK not_after >= toUnixTimestamp64Micro(now64(6))
)
ENGINE = MergeTree
PARTITION BY (part, partition * 0, block * 0)
PRIMARY KEY (lane, kind, lane_seq, run_id, partition, block)
ORDER BY (lane, kind, lane_seq, run_id, partition, block, row)
SETTINGS
    -- One block a number: the window is far above the blocks of a minute, and it is counted per table.
    non_replicated_deduplication_window = 1000000,
    -- What is acknowledged is on disk, and a part on disk does not give way to a merge that is not.
    fsync_after_insert = 1,
    fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 60,
    -- A page of a few hundred records reads little beside them, a cold load of many small lanes too.
    index_granularity = 1024,
    -- A new part is one file, which makes a small insert a third faster.
    min_bytes_for_full_part_storage = 134217728,
    min_rows_for_full_part_storage = 10000000,
    min_level_for_full_part_storage = 1,
    -- With the engine's own base of 5 every merge takes the newest few megabytes along again, for sixty times the rows
    -- that came in; with this one some twenty small parts wait for a merge of their own.
    merge_selector_base = 60,
    min_parts_to_merge_at_once = 10,
    -- No query of ours is planned by statistics, and they are half of what a merge costs; the other two are what a small
    -- part is made larger and slower by.
    auto_statistics_types = '',
    ratio_of_defaults_for_sparse_serialization = 1.0,
    write_marks_for_substreams_in_compact_parts = 0;

-- The generation of each partition's chain, 0 where there is none; written by repair.
CREATE TABLE IF NOT EXISTS chains
(
    partition  UInt32,
    generation UInt32,
    at         DateTime64(6, 'UTC')
)
ENGINE = MergeTree
ORDER BY (partition, generation)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

-- The journal's own id, minted by the first migration; the token keeps a second one out.
CREATE TABLE IF NOT EXISTS journal_meta
(
    journal_id String,
    at         DateTime64(6, 'UTC')
)
ENGINE = MergeTree
ORDER BY journal_id
SETTINGS
    non_replicated_deduplication_window = 100,
    fsync_after_insert = 1,
    fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1;
