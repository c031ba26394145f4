-- Oldest program: 27
--
-- Lines that tasks logged and printed, a row for successive lines of one attempt. They go with their
-- instance.

CREATE TABLE task_logs (
    tenant TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    step TEXT NOT NULL,
    iteration TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    first INTEGER NOT NULL,
    size INTEGER NOT NULL,
    lines BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (instance_id, step, iteration, attempt, first)
) STRICT;

CREATE INDEX task_logs_by_time ON task_logs (instance_id, at, step, iteration, attempt, first);

CREATE TRIGGER task_logs_go AFTER DELETE ON workflow_instances
BEGIN
    DELETE FROM task_logs WHERE instance_id = old.id;
END;
