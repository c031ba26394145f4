-- Oldest program: 16
--
-- Databases that queries of tenants read, and these queries.

CREATE TABLE tenuto.data_sources (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    document bytea NOT NULL,
    created_at bigint NOT NULL,
    created_by text COLLATE "C",
    changed_at bigint NOT NULL,
    changed_by text COLLATE "C",
    PRIMARY KEY (tenant, id)
);

CREATE TABLE tenuto.data_queries (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    data_source_id text COLLATE "C" NOT NULL,
    document bytea NOT NULL,
    created_at bigint NOT NULL,
    created_by text COLLATE "C",
    changed_at bigint NOT NULL,
    changed_by text COLLATE "C",
    PRIMARY KEY (tenant, id)
);

CREATE INDEX data_queries_by_source ON tenuto.data_queries (tenant, data_source_id, id);

SELECT tenuto.raise_wall();
