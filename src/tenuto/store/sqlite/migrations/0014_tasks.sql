-- Oldest program: 14
--
-- Tasks that somebody has declared, and what is known of the addresses that they are pushed to. Both
-- are changed from one version to the next, so that nobody overwrites what they have not seen.

CREATE TABLE task_definitions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    document BLOB NOT NULL,
    is_pushed INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_definitions_pushed ON task_definitions (tenant, id) WHERE is_pushed;

CREATE TABLE push_targets (
    tenant TEXT NOT NULL,
    task_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (tenant, task_id)
) STRICT, WITHOUT ROWID;
