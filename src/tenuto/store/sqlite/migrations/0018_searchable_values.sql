-- Oldest program: 18
--
-- Values by which instances are found: one row for each name that a definition lists as searchable.
-- A value is canonical JSON, or where that is long its hash.

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

-- What there is already is found too, once each instance has taken its letter. A definition in which
-- the word stands somewhere else only has its instances write what they have.
INSERT INTO mailbox (id, instance_id, input, created_at)
SELECT
    'index/' || instance.id, instance.id, CAST('{"type":"index-again"}' AS BLOB),
    CAST(unixepoch('subsec') * 1000 AS INTEGER)
FROM workflow_definitions AS definition
CROSS JOIN workflow_instances AS instance
WHERE
    instr(definition.content, CAST('"searchable"' AS BLOB)) > 0
    AND instance.tenant = definition.tenant AND instance.definition_id = definition.id
    AND instance.definition_version = definition.version;
