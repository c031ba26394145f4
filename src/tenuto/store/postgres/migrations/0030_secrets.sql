-- Oldest program: 16
--
-- Secrets of tenants: names, destinations and sealed values. The table `secrets` has what processes of
-- the service share, and nothing of tenants.

CREATE TABLE tenuto.tenant_secrets (
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    sealed bytea NOT NULL,
    destinations text COLLATE "C",
    changed_at bigint NOT NULL,
    changed_by text COLLATE "C",
    PRIMARY KEY (tenant, name)
);

SELECT tenuto.raise_wall();
