-- Oldest program: 10
--
-- Who has access, and what they did. Keys are never forgotten: that there ever was one means that
-- everybody has to show who they are. A tenant's audit log is a chain whose end is a row of its own,
-- so that lines cut off its end are missed.

CREATE TABLE access_keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    scopes TEXT,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX access_keys_by_tenant ON access_keys (tenant, created_at, id);

CREATE TABLE audit_log (
    tenant TEXT NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    outcome TEXT NOT NULL,
    source TEXT NOT NULL,
    request_id TEXT NOT NULL,
    before BLOB,
    after BLOB,
    previous_hash BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (tenant, number)
) STRICT;

CREATE UNIQUE INDEX audit_log_by_id ON audit_log (tenant, id);

CREATE TABLE audit_heads (
    tenant TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;
