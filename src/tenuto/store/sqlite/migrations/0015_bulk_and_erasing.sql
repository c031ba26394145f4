-- Oldest program: 15
--
-- Actions over many things: what was asked for, how far it has come, and who goes on with it until
-- when. What erases an instance finds its keys, and what is only tried out is found by its age.

CREATE TABLE bulk_operations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    content BLOB NOT NULL,
    progress BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    is_stopped INTEGER NOT NULL,
    token INTEGER NOT NULL,
    held_until INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX bulk_operations_newest ON bulk_operations (tenant, created_at, id);
CREATE INDEX bulk_operations_open ON bulk_operations (held_until) WHERE is_open = 1;

CREATE INDEX idempotency_keys_by_instance ON idempotency_keys (instance_id);

CREATE INDEX workflow_definitions_rehearsed ON workflow_definitions (created_at)
WHERE id >= '~test:' AND id < '~tesu';
