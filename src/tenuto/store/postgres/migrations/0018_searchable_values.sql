-- Oldest program: 16
--
-- Values by which instances are found: one row for each name that a definition lists as searchable.
-- A value is canonical JSON, or where that is long its hash. What a program before this one writes
-- for such an instance is found once a newer one has written to it.

CREATE TABLE tenuto.workflow_searchable_values (
    instance_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    definition_id text COLLATE "C" NOT NULL,
    value_text text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (instance_id, name)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX workflow_searchable_values_by_value
    ON tenuto.workflow_searchable_values (
        tenant, definition_id, name, value_text, created_at, instance_id
    );

-- What there is already is found too, once each instance has taken its letter; programs before this
-- one leave it to others. A definition in which the word stands somewhere else only has its
-- instances write what they have.
INSERT INTO tenuto.mailbox (id, instance_id, input, created_at)
SELECT
    'index/' || instance.id, instance.id, '{"type":"index-again"}'::bytea,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM tenuto.workflow_definitions AS definition
JOIN tenuto.workflow_instances AS instance
    ON instance.tenant = definition.tenant AND instance.definition_id = definition.id
    AND instance.definition_version = definition.version
WHERE position('"searchable"'::bytea IN definition.content) > 0;
