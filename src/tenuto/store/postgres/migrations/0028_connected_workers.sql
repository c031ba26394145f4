-- Oldest program: 16
--
-- Workers that claimed tasks or sent heartbeats lately, with the tasks that they take.

CREATE TABLE tenuto.workers (
    tenant text COLLATE "C" NOT NULL,
    worker_id text COLLATE "C" NOT NULL,
    task_ids text COLLATE "C",
    left_out bigint NOT NULL,
    first_seen bigint NOT NULL,
    last_seen bigint NOT NULL,
    PRIMARY KEY (tenant, worker_id)
);

CREATE INDEX workers_by_time ON tenuto.workers (last_seen);
CREATE INDEX workers_of_tenant_by_time ON tenuto.workers (tenant, last_seen, worker_id);

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + table workers workers
-- + column workers first_seen bigint
-- + column workers last_seen bigint
-- + column workers left_out bigint
-- + column workers task_ids text
-- + column workers tenant text
-- + column workers worker_id text
-- + index workers workers_by_time
-- + index workers workers_of_tenant_by_time
-- + key workers tenant,worker_id primary
