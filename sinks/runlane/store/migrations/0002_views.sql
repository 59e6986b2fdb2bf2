-- Plain views for analysts. They leave purged lanes out, hold no checkpoint and answer no contract read.
CREATE VIEW IF NOT EXISTS v_purged AS
SELECT
    lane,
    max(fromUnixTimestamp64Micro(time, 'UTC')) AS purged_at
FROM journal
WHERE kind = 'tombstone'
GROUP BY lane;

CREATE VIEW IF NOT EXISTS v_runs AS
SELECT
    run_id,
    argMax(session_id, (block, row)) AS session_id,
    argMax(agent_id, (block, row)) AS agent_id,
    argMax(parent_run_id, (block, row)) AS parent_run_id,
    argMax(status, (block, row)) AS status,
    JSONExtractString(argMax(body, (block, row)), 'start_outcome') AS start_outcome,
    argMax(fromUnixTimestamp64Micro(at, 'UTC'), (block, row)) AS started_at,
    fromUnixTimestamp64Micro(JSONExtractInt(argMax(body, (block, row)), 'updated_at'), 'UTC') AS updated_at,
    argMax(reason, (block, row)) AS cancellation_reason,
    argMax(JSONExtract(labels, 'Map(String, String)'), (block, row)) AS labels,
    lane
FROM journal
WHERE kind = 'run' AND lane NOT IN (SELECT lane FROM v_purged)
GROUP BY lane, run_id;

CREATE VIEW IF NOT EXISTS v_sessions AS
SELECT
    substring(lane, 3) AS session_id,
    argMax(status, (block, row)) AS status,
    argMax(fromUnixTimestamp64Micro(at, 'UTC'), (block, row)) AS created_at,
    if(argMax(body, (block, row)) = '', NULL,
       fromUnixTimestamp64Micro(toInt64OrZero(argMax(body, (block, row))), 'UTC')) AS ended_at
FROM journal
WHERE kind = 'session' AND lane NOT IN (SELECT lane FROM v_purged)
GROUP BY lane;

CREATE VIEW IF NOT EXISTS v_records AS
SELECT
    run_id,
    seq,
    lane,
    lane_seq,
    session_id,
    agent_id,
    turn_id,
    event_key,
    type,
    fromUnixTimestamp64Micro(at, 'UTC') AS timestamp,
    fromUnixTimestamp64Micro(time, 'UTC') AS committed_at,
    status AS session_status,
    tool,
    model,
    input_tokens,
    output_tokens,
    total_tokens,
    body AS payload
FROM journal
WHERE kind = 'record' AND run_id != '' AND lane NOT IN (SELECT lane FROM v_purged);

CREATE VIEW IF NOT EXISTS v_records_by_type AS
SELECT
    type,
    agent_id,
    count() AS records,
    uniqExact(run_id) AS runs,
    min(timestamp) AS first_at,
    max(timestamp) AS last_at
FROM v_records
GROUP BY type, agent_id;

CREATE VIEW IF NOT EXISTS v_token_use AS
SELECT
    run_id,
    session_id,
    agent_id,
    model,
    sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens,
    sum(total_tokens) AS total_tokens,
    count() AS calls
FROM v_records
WHERE type = 'usage'
GROUP BY run_id, session_id, agent_id, model;

CREATE VIEW IF NOT EXISTS v_refused_commands AS
SELECT
    fromUnixTimestamp64Micro(time, 'UTC') AS refused_at,
    partition,
    position,
    lane,
    type AS operation,
    code,
    run_id,
    session_id,
    agent_id
FROM journal
WHERE kind = 'answer' AND code != '' AND lane NOT IN (SELECT lane FROM v_purged);
