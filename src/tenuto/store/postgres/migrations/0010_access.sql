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

-- Made, and removed, by it:
-- + table access_keys access_keys
-- + table audit_heads audit_heads
-- + table audit_log audit_log
-- + column access_keys created_at bigint
-- + column access_keys created_by text
-- + column access_keys expires_at bigint
-- + column access_keys hash bytea
-- + column access_keys id text
-- + column access_keys last_used_at bigint
-- + column access_keys name text
-- + column access_keys revoked_at bigint
-- + column access_keys role text
-- + column access_keys scopes text
-- + column access_keys tenant text
-- + column audit_heads hash bytea
-- + column audit_heads number bigint
-- + column audit_heads tenant text
-- + column audit_log action text
-- + column audit_log actor text
-- + column audit_log after bytea
-- + column audit_log at bigint
-- + column audit_log before bytea
-- + column audit_log hash bytea
-- + column audit_log id text
-- + column audit_log kind text
-- + column audit_log number bigint
-- + column audit_log outcome text
-- + column audit_log previous_hash bytea
-- + column audit_log request_id text
-- + column audit_log source text
-- + column audit_log target text
-- + column audit_log tenant text
-- + index access_keys access_keys_by_tenant
-- + key access_keys id primary
-- + key audit_heads tenant primary
-- + key audit_log tenant,id unique
-- + key audit_log tenant,number primary
