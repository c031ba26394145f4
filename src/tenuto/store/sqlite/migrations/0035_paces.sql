-- Oldest program: 35
--
-- Starts that become one, and rates of starts: what a request says of them, and what is known of each key.
-- Rules of the queue.

ALTER TABLE slots ADD COLUMN pace TEXT;

ALTER TABLE slots ADD COLUMN above TEXT;

CREATE INDEX slots_settling ON slots (blocked_on, asked_at, instance_id) WHERE state = 'settling';

CREATE TABLE paces (
    tenant TEXT NOT NULL,
    pace_key TEXT NOT NULL,
    next_at INTEGER,
    kept_until INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (pace_key)
) STRICT;

CREATE INDEX paces_due ON paces (next_at) WHERE next_at IS NOT NULL;

CREATE INDEX paces_old ON paces (kept_until);

CREATE TABLE queue_rules (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    expression TEXT NOT NULL,
    priority INTEGER,
    is_hold INTEGER NOT NULL,
    note TEXT,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;
