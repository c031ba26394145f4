-- Oldest program: 16
--
-- Values by which instances are found: one row for each name that a definition lists as searchable.
-- A value is canonical JSON, or where that is long its hash. What was there before, and what a
-- program before this one writes, is found once a newer one has written to it: when next something
-- happens to it, or by `tenuto reindex`.

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

-- Made, and removed, by it:
-- + table workflow_searchable_values workflow_searchable_values
-- + column workflow_searchable_values created_at bigint
-- + column workflow_searchable_values definition_id text
-- + column workflow_searchable_values instance_id text
-- + column workflow_searchable_values name text
-- + column workflow_searchable_values tenant text
-- + column workflow_searchable_values value_text text
-- + index workflow_searchable_values workflow_searchable_values_by_value
-- + key workflow_searchable_values instance_id,name primary
