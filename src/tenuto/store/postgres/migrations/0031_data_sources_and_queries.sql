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

-- Made, and removed, by it:
-- + table data_queries data_queries
-- + table data_sources data_sources
-- + column data_queries changed_at bigint
-- + column data_queries changed_by text
-- + column data_queries created_at bigint
-- + column data_queries created_by text
-- + column data_queries data_source_id text
-- + column data_queries document bytea
-- + column data_queries id text
-- + column data_queries tenant text
-- + column data_queries version bigint
-- + column data_sources changed_at bigint
-- + column data_sources changed_by text
-- + column data_sources created_at bigint
-- + column data_sources created_by text
-- + column data_sources document bytea
-- + column data_sources id text
-- + column data_sources tenant text
-- + column data_sources version bigint
-- + index data_queries data_queries_by_source
-- + key data_queries tenant,id primary
-- + key data_sources tenant,id primary
