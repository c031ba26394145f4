-- Oldest program: 7
--
-- Actions over many things: what was asked for, how far it has come, and who goes on with it until
-- when. What erases an instance finds its keys, and what is only tried out is found by its age.

CREATE TABLE tenuto.bulk_operations (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    progress bytea NOT NULL,
    created_at bigint NOT NULL,
    is_open bigint NOT NULL,
    is_stopped bigint NOT NULL,
    token bigint NOT NULL,
    held_until bigint NOT NULL,
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);

CREATE INDEX bulk_operations_newest ON tenuto.bulk_operations (tenant, created_at, id);
CREATE INDEX bulk_operations_open ON tenuto.bulk_operations (held_until) WHERE is_open = 1;

CREATE INDEX idempotency_keys_by_instance ON tenuto.idempotency_keys (instance_id);

CREATE INDEX workflow_definitions_rehearsed ON tenuto.workflow_definitions (created_at)
WHERE id >= '~test:' AND id < '~tesu';

-- Made, and removed, by it:
-- + table bulk_operations bulk_operations
-- + column bulk_operations content bytea
-- + column bulk_operations created_at bigint
-- + column bulk_operations held_until bigint
-- + column bulk_operations id text
-- + column bulk_operations is_open bigint
-- + column bulk_operations is_stopped bigint
-- + column bulk_operations progress bytea
-- + column bulk_operations tenant text
-- + column bulk_operations token bigint
-- + index bulk_operations bulk_operations_newest
-- + index bulk_operations bulk_operations_open
-- + index idempotency_keys idempotency_keys_by_instance
-- + index workflow_definitions workflow_definitions_rehearsed
-- + key bulk_operations tenant,id primary
