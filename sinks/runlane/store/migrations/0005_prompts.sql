-- Which prompts runs rest on. docs/transcripts.md shows them in use.
CREATE VIEW IF NOT EXISTS v_prompts AS
SELECT
    run_id,
    session_id,
    agent_id,
    JSONExtractString(payload, 'PromptID') AS prompt_id,
    JSONExtractString(payload, 'Version') AS version,
    min(seq) AS first_seq,
    min(timestamp) AS first_at,
    count() AS times
FROM v_records
WHERE type = 'prompt_rendered'
GROUP BY run_id, session_id, agent_id, prompt_id, version;

-- The runs that a run continues or starts, in the order of its records.
CREATE VIEW IF NOT EXISTS v_run_relations AS
SELECT
    run_id,
    seq,
    if(type = 'run_started', 'predecessor', 'child') AS relation,
    JSONExtractString(payload, if(type = 'run_started', 'predecessor_run_id', 'ChildRunID')) AS related_run_id
FROM v_records
WHERE type IN ('run_started', 'child_run_linked') AND related_run_id != '';
