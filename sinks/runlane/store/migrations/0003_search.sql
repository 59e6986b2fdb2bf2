-- Tables that are derived of the journal, block by block, never part of a commit; they answer searches, no contract read.
-- Each row's key never changes and its block is its version, so filling twice changes nothing.

-- Latest run states; newest_first makes the order of a search the order of the table.
CREATE TABLE IF NOT EXISTS run_search
(
    run_id              String,
    lane                String,
    session_id          String,
    agent_id            LowCardinality(String),
    parent_run_id       String,
    status              LowCardinality(String),
    start_outcome       LowCardinality(String),
    started_at          Int64,
    newest_first        Int64 MATERIALIZED -started_at,
    updated_at          Int64,
    labels              Map(String, String),
    cancellation_reason String,
    block               UInt64
)
ENGINE = ReplacingMergeTree(block)
ORDER BY (newest_first, run_id);

-- Latest session states; ended_at is empty while a session is active.
CREATE TABLE IF NOT EXISTS session_search
(
    session_id String,
    lane       String,
    status     LowCardinality(String),
    created_at Int64,
    ended_at   String,
    block      UInt64
)
ENGINE = ReplacingMergeTree(block)
ORDER BY session_id;

-- The purged lanes, which no search may show.
CREATE TABLE IF NOT EXISTS purged_lanes
(
    lane  String,
    block UInt64
)
ENGINE = ReplacingMergeTree(block)
ORDER BY lane;

-- The last block of each partition that these tables hold, and the time of that block.
CREATE TABLE IF NOT EXISTS search_progress
(
    partition UInt32,
    block     UInt64,
    time      Int64
)
ENGINE = ReplacingMergeTree(block)
ORDER BY partition;
