-- Oldest program: 7
--
-- Tasks that somebody has declared, and what is known of the addresses that they are pushed to. Both
-- are changed from one version to the next, so that nobody overwrites what they have not seen.

CREATE TABLE tenuto.task_definitions (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    document bytea NOT NULL,
    is_pushed boolean NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX task_definitions_pushed ON tenuto.task_definitions (tenant, id) WHERE is_pushed;

CREATE TABLE tenuto.push_targets (
    tenant text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    state bytea NOT NULL,
    PRIMARY KEY (tenant, task_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);

-- Made, and removed, by it:
-- + table push_targets push_targets
-- + table task_definitions task_definitions
-- + column push_targets state bytea
-- + column push_targets task_id text
-- + column push_targets tenant text
-- + column push_targets version bigint
-- + column task_definitions created_at bigint
-- + column task_definitions document bytea
-- + column task_definitions id text
-- + column task_definitions is_pushed boolean
-- + column task_definitions tenant text
-- + column task_definitions updated_at bigint
-- + column task_definitions version bigint
-- + index task_definitions task_definitions_pushed
-- + key push_targets tenant,task_id primary
-- + key task_definitions tenant,id primary
