-- Oldest program: 5
--
-- Attempts that are left to whoever has their task. A lease's token rises with every grant.

CREATE TABLE jobs (
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    offered_at INTEGER NOT NULL,
    token INTEGER NOT NULL DEFAULT 0,
    leased_by TEXT,
    leased_until INTEGER,
    PRIMARY KEY (instance_id, node, iteration, attempt)
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_offered ON jobs (task_id, offered_at) WHERE leased_by IS NULL;
CREATE INDEX jobs_leased ON jobs (leased_until) WHERE leased_by IS NOT NULL;
