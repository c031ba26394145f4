-- Oldest program: 31
--
-- Databases that queries of tenants read, and these queries.

CREATE TABLE data_sources (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    document BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;

CREATE TABLE data_queries (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    data_source_id TEXT NOT NULL,
    document BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;

CREATE INDEX data_queries_by_source ON data_queries (tenant, data_source_id, id);
