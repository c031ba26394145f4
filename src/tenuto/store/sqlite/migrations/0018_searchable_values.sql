-- Oldest program: 18
--
-- Values by which instances are found: one row for each name that a definition lists as searchable.
-- A value is canonical JSON, or where that is long its hash. What was there before is found once it
-- is written to: when next something happens to it, or by `tenuto reindex`.

CREATE TABLE workflow_searchable_values (
    instance_id TEXT NOT NULL,
    name TEXT NOT NULL,
    tenant TEXT NOT NULL,
    definition_id TEXT NOT NULL,
    value_text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (instance_id, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX workflow_searchable_values_by_value
ON workflow_searchable_values (
    tenant, definition_id, name, value_text, created_at, instance_id
);
