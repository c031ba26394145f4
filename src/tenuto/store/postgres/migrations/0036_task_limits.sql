-- Oldest program: 34
--
-- Limits of tasks: which jobs count for them, and how many more attempts the rate of a task lets begin. The
-- row of a task is locked by those that claim its jobs.

ALTER TABLE tenuto.jobs ADD COLUMN is_limited boolean NOT NULL DEFAULT false;

CREATE INDEX jobs_limited ON tenuto.jobs (tenant, task_id) WHERE leased_by IS NULL AND is_limited;
CREATE INDEX jobs_limited_held ON tenuto.jobs (tenant, task_id)
WHERE leased_by IS NOT NULL AND is_limited;

CREATE TABLE tenuto.task_rates (
    tenant text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    tokens bigint,
    tokens_at bigint NOT NULL,
    PRIMARY KEY (tenant, task_id)
);

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + table task_rates task_rates
-- + column jobs is_limited boolean
-- + column task_rates task_id text
-- + column task_rates tenant text
-- + column task_rates tokens bigint
-- + column task_rates tokens_at bigint
-- + index jobs jobs_limited
-- + index jobs jobs_limited_held
-- + key task_rates tenant,task_id primary
