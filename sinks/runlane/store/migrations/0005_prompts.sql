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

-- The prompts that a run rests on, each once: SELECT * FROM v_prompt_refs(run = 'r1').
-- Breadth first over the run, the one that it continues and those that it starts, in the order of their records; a run
-- that was stopped at its start has none.
CREATE VIEW IF NOT EXISTS v_prompt_refs AS
WITH RECURSIVE
    relations AS (
        SELECT run_id, seq, related_run_id
        FROM v_run_relations
        WHERE run_id NOT IN (SELECT run_id FROM v_runs WHERE start_outcome = 'stop')
    ),
    related AS (
        SELECT
            {run:String} AS run_id,
            CAST([], 'Array(UInt64)') AS path,
            [{run:String}] AS seen
        UNION ALL
        SELECT
            relations.related_run_id,
            arrayConcat(related.path, [relations.seq]),
            arrayConcat(related.seen, [relations.related_run_id])
        FROM relations
        INNER JOIN related ON relations.run_id = related.run_id
        WHERE NOT has(related.seen, relations.related_run_id)
    ),
    first_met AS (
        SELECT run_id, min((length(path), path)) AS met
        FROM related
        GROUP BY run_id
    )
SELECT
    prompt_id,
    version,
    argMin(run_id, (met, first_seq)) AS first_run_id,
    tupleElement(min(met), 1) AS distance
FROM v_prompts
INNER JOIN first_met USING (run_id)
GROUP BY prompt_id, version
ORDER BY min((met, first_seq));
