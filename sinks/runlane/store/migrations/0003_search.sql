-- Latest run states for search_runs: filled out of the journal block by block, never part of a commit, rebuilt at will.
-- A run's start never changes, so filling twice changes nothing and the newest state of a run replaces the ones before.
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

-- The last block of each partition that run_search holds, and the time of that block.
CREATE TABLE IF NOT EXISTS run_search_progress
(
    partition UInt32,
    block     UInt64,
    time      Int64
)
ENGINE = ReplacingMergeTree(block)
ORDER BY partition;
