-- Memory: what products keep of their agents' runs, a table of chains of its own. docs/memory.md says what its rows are.
-- Its one order holds each run of an agent together; commit rows are in no run. Parts and merges are the journal's.
CREATE TABLE IF NOT EXISTS memory_events
(
    part       UInt32,
    partition  UInt32,
    generation UInt32,
    block      UInt64,
    row        UInt32,
    time       Int64,
    kind       LowCardinality(String),
    agent_id   String,
    run_id     String,
    position   Int64,
    append_key String,
    type       LowCardinality(String),
    at         Int64,
    count      UInt32,
    labels     String,
    digest     String,
    body       String CODEC(ZSTD(1)),
    not_after  Int64,
    size       UInt32 MATERIALIZED length(body),
    INDEX of_key append_key TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX of_block block TYPE minmax GRANULARITY 1,
    INDEX of_kind kind TYPE set(8) GRANULARITY 1,
    CONSTRAINT in_time CHECK not_after >= toUnixTimestamp64Micro(now64(6))
)
ENGINE = MergeTree
PARTITION BY (part, partition * 0, block * 0)
PRIMARY KEY (agent_id, run_id, kind, position)
ORDER BY (agent_id, run_id, kind, position, row)
SETTINGS
    non_replicated_deduplication_window = 1000000,
    fsync_after_insert = 1,
    fsync_part_directory = 1,
    min_rows_to_fsync_after_merge = 1,
    old_parts_lifetime = 60,
    index_granularity = 1024,
    min_bytes_for_full_part_storage = 134217728,
    min_rows_for_full_part_storage = 10000000,
    min_level_for_full_part_storage = 1,
    merge_selector_base = 60,
    min_parts_to_merge_at_once = 10,
    auto_statistics_types = '',
    ratio_of_defaults_for_sparse_serialization = 1.0,
    write_marks_for_substreams_in_compact_parts = 0;

-- The generation of each partition's chain of memory, 0 where there is none; written by repair.
CREATE TABLE IF NOT EXISTS memory_chains
(
    partition  UInt32,
    generation UInt32,
    at         DateTime64(6, 'UTC')
)
ENGINE = MergeTree
ORDER BY (partition, generation)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, min_rows_to_fsync_after_merge = 1;

-- Up to which position products deleted the memory of a run.
CREATE VIEW IF NOT EXISTS v_memory_deleted AS
SELECT
    agent_id,
    run_id,
    max(position) AS position,
    max(fromUnixTimestamp64Micro(time, 'UTC')) AS deleted_at
FROM memory_events
WHERE kind = 'delete'
GROUP BY agent_id, run_id;

CREATE VIEW IF NOT EXISTS v_memory AS
SELECT
    agent_id,
    run_id,
    position,
    row,
    type,
    fromUnixTimestamp64Micro(at, 'UTC') AS timestamp,
    fromUnixTimestamp64Micro(time, 'UTC') AS stored_at,
    labels,
    JSONExtractRaw(body, 'Data') AS data
FROM memory_events AS event
LEFT ANY JOIN (SELECT agent_id, run_id, position AS deleted FROM v_memory_deleted) AS gone USING (agent_id, run_id)
WHERE kind = 'event' AND (deleted = 0 OR position > deleted);
