-- Oldest program: 4
--
-- Attempts that are left to whoever has their task. A lease's token rises with every grant.

CREATE TABLE tenuto.jobs (
    instance_id text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    iteration text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    offered_at bigint NOT NULL,
    token bigint NOT NULL DEFAULT 0,
    leased_by text COLLATE "C",
    leased_until bigint,
    PRIMARY KEY (instance_id, node, iteration, attempt)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);

CREATE INDEX jobs_offered ON tenuto.jobs (task_id, offered_at) WHERE leased_by IS NULL;
CREATE INDEX jobs_leased ON tenuto.jobs (leased_until) WHERE leased_by IS NOT NULL;

-- Made, and removed, by it:
-- + table jobs jobs
-- + column jobs attempt bigint
-- + column jobs instance_id text
-- + column jobs iteration text
-- + column jobs leased_by text
-- + column jobs leased_until bigint
-- + column jobs node text
-- + column jobs offered_at bigint
-- + column jobs task_id text
-- + column jobs token bigint
-- + index jobs jobs_leased
-- + index jobs jobs_offered
-- + key jobs instance_id,node,iteration,attempt primary
