-- Oldest program: 30
--
-- Secrets of tenants: names, destinations and sealed values. The table `secrets` has what processes of
-- the service share, and nothing of tenants.

CREATE TABLE tenant_secrets (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    sealed BLOB NOT NULL,
    destinations TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    PRIMARY KEY (tenant, name)
) STRICT;
