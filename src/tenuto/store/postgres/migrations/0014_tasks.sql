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
