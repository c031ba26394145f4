-- Oldest program: 16
--
-- Lines that tasks logged and printed, a row for successive lines of one attempt. They go with their
-- instance.

CREATE TABLE tenuto.task_logs (
    tenant text COLLATE "C" NOT NULL,
    instance_id text COLLATE "C" NOT NULL,
    step text COLLATE "C" NOT NULL,
    iteration text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    first bigint NOT NULL,
    size bigint NOT NULL,
    lines bytea NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (instance_id, step, iteration, attempt, first)
);

CREATE INDEX task_logs_by_time
    ON tenuto.task_logs (instance_id, at, step, iteration, attempt, first);

CREATE FUNCTION tenuto.erase_task_logs() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM tenuto.task_logs AS line USING gone WHERE line.instance_id = gone.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER task_logs_go
AFTER DELETE ON tenuto.workflow_instances
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT
EXECUTE FUNCTION tenuto.erase_task_logs();

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + table task_logs task_logs
-- + column task_logs at bigint
-- + column task_logs attempt bigint
-- + column task_logs first bigint
-- + column task_logs instance_id text
-- + column task_logs iteration text
-- + column task_logs lines bytea
-- + column task_logs size bigint
-- + column task_logs step text
-- + column task_logs tenant text
-- + index task_logs task_logs_by_time
-- + key task_logs instance_id,step,iteration,attempt,first primary
-- + function - erase_task_logs
-- + trigger workflow_instances task_logs_go
