-- Oldest program: 28
--
-- Workers that claimed tasks or sent heartbeats lately, with the tasks that they take.

CREATE TABLE workers (
    tenant TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    task_ids TEXT,
    left_out INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    PRIMARY KEY (tenant, worker_id)
) STRICT;

CREATE INDEX workers_by_time ON workers (last_seen);
CREATE INDEX workers_of_tenant_by_time ON workers (tenant, last_seen, worker_id);
