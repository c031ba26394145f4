-- Oldest program: 10
--
-- Who has access, and what they did. Keys are never forgotten: that there ever was one means that
-- everybody has to show who they are. A tenant's audit log is a chain whose end is a row of its own,
-- which whoever goes on with it locks; and lines cut off its end are missed.

CREATE TABLE tenuto.access_keys (
    id text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    scopes text COLLATE "C",
    hash bytea NOT NULL,
    created_at bigint NOT NULL,
    created_by text COLLATE "C" NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint
);

CREATE INDEX access_keys_by_tenant ON tenuto.access_keys (tenant, created_at, id);

CREATE TABLE tenuto.audit_log (
    tenant text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    before bytea,
    after bytea,
    previous_hash bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (tenant, number)
);

CREATE UNIQUE INDEX audit_log_by_id ON tenuto.audit_log (tenant, id);

CREATE TABLE tenuto.audit_heads (
    tenant text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL,
    hash bytea NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);
