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

-- Made, and removed, by it:
-- + table tenant_secrets tenant_secrets
-- + column tenant_secrets changed_at bigint
-- + column tenant_secrets changed_by text
-- + column tenant_secrets destinations text
-- + column tenant_secrets name text
-- + column tenant_secrets sealed bytea
-- + column tenant_secrets tenant text
-- + key tenant_secrets tenant,name primary
