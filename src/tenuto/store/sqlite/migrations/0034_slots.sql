-- Oldest program: 34
--
-- Limits on instances that run at once: who holds a slot and who waits for one, how many of each limit
-- are taken, which were given back, and what limits are set.

CREATE TABLE slots (
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    tenant TEXT NOT NULL,
    definition_id TEXT NOT NULL,
    keys TEXT NOT NULL,
    own_key TEXT,
    own_limit INTEGER NOT NULL,
    on_full TEXT NOT NULL,
    number INTEGER NOT NULL,
    rank_class INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    deadline INTEGER,
    asked_at INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    blocked_on TEXT NOT NULL DEFAULT '',
    held_at INTEGER,
    PRIMARY KEY (instance_id, node, iteration)
) STRICT;

CREATE INDEX slots_waiting ON slots (blocked_on, tenant, rank_class, rank, instance_id, node, iteration)
WHERE state = 'waiting';

CREATE INDEX slots_queue ON slots (tenant, rank_class, rank, instance_id, node, iteration)
WHERE state <> 'held';

CREATE INDEX slots_held ON slots (tenant, held_at) WHERE state = 'held';

CREATE INDEX slots_of_key ON slots (own_key, state, asked_at) WHERE own_key IS NOT NULL;

CREATE TABLE slots_freed (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    keys TEXT NOT NULL,
    amount INTEGER NOT NULL
) STRICT;

CREATE TABLE slot_counts (
    tenant TEXT NOT NULL,
    limit_key TEXT NOT NULL,
    taken INTEGER NOT NULL,
    PRIMARY KEY (limit_key)
) STRICT;

CREATE TABLE concurrency (
    tenant TEXT NOT NULL,
    document BLOB NOT NULL,
    version INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    PRIMARY KEY (tenant)
) STRICT;

INSERT INTO concurrency (tenant, document, version, changed_at) VALUES ('', X'7B7D', 0, 0);

CREATE TRIGGER slots_are_freed AFTER DELETE ON slots WHEN old.state = 'held'
BEGIN
    INSERT INTO slots_freed (tenant, keys, amount) VALUES (old.tenant, old.keys, 1);
END;

CREATE TRIGGER slots_are_freed_again AFTER UPDATE OF state ON slots
WHEN old.state = 'held' AND new.state <> 'held'
BEGIN
    INSERT INTO slots_freed (tenant, keys, amount) VALUES (old.tenant, old.keys, 1);
END;

CREATE TRIGGER slots_go AFTER DELETE ON workflow_instances
BEGIN
    DELETE FROM slots WHERE instance_id = old.id;
END;
