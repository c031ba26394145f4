-- Oldest program: 36
--
-- Limits of tasks: which jobs count for them, and how many more attempts the rate of a task lets begin.

ALTER TABLE jobs ADD COLUMN is_limited INTEGER NOT NULL DEFAULT 0;

CREATE INDEX jobs_limited ON jobs (tenant, task_id) WHERE leased_by IS NULL AND is_limited;
CREATE INDEX jobs_limited_held ON jobs (tenant, task_id) WHERE leased_by IS NOT NULL AND is_limited;

CREATE TABLE task_rates (
    tenant TEXT NOT NULL,
    task_id TEXT NOT NULL,
    tokens INTEGER,
    tokens_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, task_id)
) STRICT, WITHOUT ROWID;
