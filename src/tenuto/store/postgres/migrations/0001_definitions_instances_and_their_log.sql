-- Oldest program: 1
--
-- The log is the truth; the row of an instance is what lists show of it. Both begin their key with
-- the instance, moments are milliseconds since 1970, and values are JSON as bytes. Text is compared
-- byte by byte, whatever the database's language: ids and their order are the same everywhere.
--
-- Every name says its schema, because a pooled connection keeps no search path. A store in another
-- schema than `tenuto` reads this file with that name in its place.

CREATE TABLE tenuto.schema_info (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    version integer NOT NULL,
    oldest_program integer NOT NULL
);

-- The server's clock, which all processes share.
CREATE FUNCTION tenuto.clock_ms() RETURNS bigint
LANGUAGE sql VOLATILE
AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

-- Ends a statement that went ahead as if nobody could lose, when somebody does: nothing of it stays.
CREATE FUNCTION tenuto.contended() RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RAISE EXCEPTION 'this turn goes in again, in parts: somebody else was faster with one of its instances'
        USING ERRCODE = 'TEN01';
END
$$;

CREATE TABLE tenuto.workflow_definitions (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    content bytea NOT NULL,
    content_hash bytea NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (tenant, id, version)
);

-- Narrow: what grows (log, snapshot) is elsewhere, and what changes with every step is not here.
CREATE TABLE tenuto.workflow_instances (
    id text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    definition_id text COLLATE "C" NOT NULL,
    definition_version bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    correlation_id text COLLATE "C",
    priority bigint NOT NULL,
    deadline bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    started_at bigint,
    completed_at bigint,
    current_steps text COLLATE "C" NOT NULL,
    parent_id text COLLATE "C",
    root_id text COLLATE "C",
    rerun_of text COLLATE "C",
    output bytea,
    last_error bytea,
    cancellation bytea
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

-- (created_at, id) is the order of every list.
CREATE INDEX workflow_instances_by_status
    ON tenuto.workflow_instances (tenant, status, created_at, id);
CREATE INDEX workflow_instances_by_definition
    ON tenuto.workflow_instances (tenant, definition_id, status, created_at, id);
CREATE INDEX workflow_instances_by_correlation
    ON tenuto.workflow_instances (tenant, correlation_id, created_at, id)
    WHERE correlation_id IS NOT NULL;

-- One row for each open step, so that a filter by step is a look-up.
CREATE TABLE tenuto.workflow_current_steps (
    instance_id text COLLATE "C" NOT NULL,
    step_id text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (instance_id, step_id)
) WITH (autovacuum_vacuum_scale_factor = 0.01);

CREATE INDEX workflow_current_steps_by_step
    ON tenuto.workflow_current_steps (tenant, step_id, created_at, instance_id);

-- The fold of the first `version` entries; apart, so that a change of status never rewrites it.
CREATE TABLE tenuto.workflow_snapshots (
    instance_id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    state bytea NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

-- The first row of an instance in a turn carries the turn's id: a turn sent twice knows itself.
CREATE TABLE tenuto.workflow_execution_history (
    instance_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    event_type text COLLATE "C" NOT NULL,
    node_id text COLLATE "C",
    iteration text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    node_status text COLLATE "C",
    output_variable text COLLATE "C",
    payload bytea,
    error_message text COLLATE "C",
    at_ms bigint NOT NULL,
    turn_id text COLLATE "C",
    PRIMARY KEY (instance_id, seq)
);

-- What happens to an attempt is recorded once. The range is the prefix "NODE_": the character after
-- "_" is "`", and two comparisons are cheaper than a pattern.
CREATE UNIQUE INDEX workflow_execution_history_node_once
    ON tenuto.workflow_execution_history (instance_id, node_id, iteration, event_type, attempt)
    WHERE event_type >= 'NODE_' AND event_type < 'NODE`';

-- A write without entries holds the place of the next entry while it goes in, so that whoever writes
-- that entry at the same moment waits for it, and the other way round: reading alone would not see
-- an entry that is being committed. What holds the place has no event type, and is gone at the end of
-- the statement that put it there.
CREATE FUNCTION tenuto.leave_place() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM tenuto.workflow_execution_history
    WHERE instance_id = NEW.instance_id AND seq = NEW.seq;
    RETURN NULL;
END
$$;

CREATE TRIGGER workflow_execution_history_leave_place
AFTER INSERT ON tenuto.workflow_execution_history
FOR EACH ROW WHEN (NEW.event_type = '')
EXECUTE FUNCTION tenuto.leave_place();

CREATE TABLE tenuto.idempotency_keys (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    instance_id text COLLATE "C" NOT NULL,
    content_hash bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

-- Made, and removed, by it:
-- + table idempotency_keys idempotency_keys
-- + table schema_info schema_info
-- + table workflow_current_steps workflow_current_steps
-- + table workflow_definitions workflow_definitions
-- + table workflow_execution_history workflow_execution_history
-- + table workflow_instances workflow_instances
-- + table workflow_snapshots workflow_snapshots
-- + column idempotency_keys content_hash bytea
-- + column idempotency_keys instance_id text
-- + column idempotency_keys key text
-- + column idempotency_keys tenant text
-- + column schema_info oldest_program integer
-- + column schema_info only_row integer
-- + column schema_info version integer
-- + column workflow_current_steps created_at bigint
-- + column workflow_current_steps instance_id text
-- + column workflow_current_steps step_id text
-- + column workflow_current_steps tenant text
-- + column workflow_definitions content bytea
-- + column workflow_definitions content_hash bytea
-- + column workflow_definitions created_at bigint
-- + column workflow_definitions id text
-- + column workflow_definitions tenant text
-- + column workflow_definitions version bigint
-- + column workflow_execution_history at_ms bigint
-- + column workflow_execution_history attempt bigint
-- + column workflow_execution_history error_message text
-- + column workflow_execution_history event_type text
-- + column workflow_execution_history instance_id text
-- + column workflow_execution_history iteration text
-- + column workflow_execution_history node_id text
-- + column workflow_execution_history node_status text
-- + column workflow_execution_history output_variable text
-- + column workflow_execution_history payload bytea
-- + column workflow_execution_history seq bigint
-- + column workflow_execution_history turn_id text
-- + column workflow_instances cancellation bytea
-- + column workflow_instances completed_at bigint
-- + column workflow_instances correlation_id text
-- + column workflow_instances created_at bigint
-- + column workflow_instances current_steps text
-- + column workflow_instances deadline bigint
-- + column workflow_instances definition_id text
-- + column workflow_instances definition_version bigint
-- + column workflow_instances id text
-- + column workflow_instances last_error bytea
-- + column workflow_instances output bytea
-- + column workflow_instances parent_id text
-- + column workflow_instances priority bigint
-- + column workflow_instances rerun_of text
-- + column workflow_instances root_id text
-- + column workflow_instances started_at bigint
-- + column workflow_instances status text
-- + column workflow_instances tenant text
-- + column workflow_instances updated_at bigint
-- + column workflow_snapshots instance_id text
-- + column workflow_snapshots state bytea
-- + column workflow_snapshots version bigint
-- + index workflow_current_steps workflow_current_steps_by_step
-- + index workflow_execution_history workflow_execution_history_node_once
-- + index workflow_instances workflow_instances_by_correlation
-- + index workflow_instances workflow_instances_by_definition
-- + index workflow_instances workflow_instances_by_status
-- + key idempotency_keys tenant,key primary
-- + key schema_info only_row primary
-- + key workflow_current_steps instance_id,step_id primary
-- + key workflow_definitions tenant,id,version primary
-- + key workflow_execution_history instance_id,seq primary
-- + key workflow_instances id primary
-- + key workflow_snapshots instance_id primary
-- + function - clock_ms
-- + function - contended
-- + function - leave_place
-- + trigger workflow_execution_history workflow_execution_history_leave_place
