-- Oldest program: 29
--
-- Limits on instances that run at once: who holds a slot and who waits for one, how many of each limit
-- are taken, which were given back, and what limits are set.

CREATE TABLE tenuto.slots (
    instance_id text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    iteration text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    definition_id text COLLATE "C" NOT NULL,
    keys text COLLATE "C" NOT NULL,
    own_key text COLLATE "C",
    own_limit bigint NOT NULL,
    on_full text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    rank_class bigint NOT NULL,
    rank bigint NOT NULL,
    priority bigint NOT NULL,
    deadline bigint,
    asked_at bigint NOT NULL,
    state text COLLATE "C" NOT NULL DEFAULT 'waiting',
    blocked_on text COLLATE "C" NOT NULL DEFAULT '',
    held_at bigint,
    PRIMARY KEY (instance_id, node, iteration)
);

CREATE INDEX slots_waiting
    ON tenuto.slots (blocked_on, tenant, rank_class, rank, instance_id, node, iteration)
    WHERE state = 'waiting';

CREATE INDEX slots_queue
    ON tenuto.slots (tenant, rank_class, rank, instance_id, node, iteration) WHERE state <> 'held';

CREATE INDEX slots_held ON tenuto.slots (tenant, held_at) WHERE state = 'held';

CREATE INDEX slots_of_key ON tenuto.slots (own_key, state, asked_at) WHERE own_key IS NOT NULL;

CREATE TABLE tenuto.slots_freed (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    keys text COLLATE "C" NOT NULL,
    amount bigint NOT NULL
);

CREATE TABLE tenuto.slot_counts (
    tenant text COLLATE "C" NOT NULL,
    limit_key text COLLATE "C" NOT NULL,
    taken bigint NOT NULL,
    PRIMARY KEY (limit_key)
);

CREATE TABLE tenuto.concurrency (
    tenant text COLLATE "C" NOT NULL,
    document bytea NOT NULL,
    version bigint NOT NULL,
    changed_at bigint NOT NULL,
    changed_by text COLLATE "C",
    PRIMARY KEY (tenant)
);

INSERT INTO tenuto.concurrency (tenant, document, version, changed_at) VALUES ('', '{}', 0, 0);

CREATE FUNCTION tenuto.free_slots() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO tenuto.slots_freed (tenant, keys, amount)
    SELECT gone.tenant, gone.keys, 1 FROM gone WHERE gone.state = 'held';
    RETURN NULL;
END
$$;

CREATE TRIGGER slots_are_freed
AFTER DELETE ON tenuto.slots
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT
EXECUTE FUNCTION tenuto.free_slots();

CREATE FUNCTION tenuto.free_replaced_slots() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO tenuto.slots_freed (tenant, keys, amount)
    SELECT before.tenant, before.keys, 1
    FROM before
    INNER JOIN after USING (instance_id, node, iteration)
    WHERE before.state = 'held' AND after.state <> 'held';
    RETURN NULL;
END
$$;

CREATE TRIGGER slots_are_freed_again
AFTER UPDATE ON tenuto.slots
REFERENCING OLD TABLE AS before NEW TABLE AS after
FOR EACH STATEMENT
EXECUTE FUNCTION tenuto.free_replaced_slots();

CREATE FUNCTION tenuto.erase_slots() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM tenuto.slots AS slot USING gone WHERE slot.instance_id = gone.id;
    RETURN NULL;
END
$$;

CREATE TRIGGER slots_go
AFTER DELETE ON tenuto.workflow_instances
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT
EXECUTE FUNCTION tenuto.erase_slots();

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + table concurrency concurrency
-- + table slot_counts slot_counts
-- + table slots slots
-- + table slots_freed slots_freed
-- + column concurrency changed_at bigint
-- + column concurrency changed_by text
-- + column concurrency document bytea
-- + column concurrency tenant text
-- + column concurrency version bigint
-- + column slot_counts limit_key text
-- + column slot_counts taken bigint
-- + column slot_counts tenant text
-- + column slots asked_at bigint
-- + column slots blocked_on text
-- + column slots deadline bigint
-- + column slots definition_id text
-- + column slots held_at bigint
-- + column slots instance_id text
-- + column slots iteration text
-- + column slots keys text
-- + column slots node text
-- + column slots number bigint
-- + column slots on_full text
-- + column slots own_key text
-- + column slots own_limit bigint
-- + column slots priority bigint
-- + column slots rank bigint
-- + column slots rank_class bigint
-- + column slots state text
-- + column slots tenant text
-- + column slots_freed amount bigint
-- + column slots_freed keys text
-- + column slots_freed number bigint identity
-- + column slots_freed tenant text
-- + index slots slots_held
-- + index slots slots_of_key
-- + index slots slots_queue
-- + index slots slots_waiting
-- + key concurrency tenant primary
-- + key slot_counts limit_key primary
-- + key slots instance_id,node,iteration primary
-- + key slots_freed number primary
-- + function - erase_slots
-- + function - free_replaced_slots
-- + function - free_slots
-- + trigger slots slots_are_freed
-- + trigger slots slots_are_freed_again
-- + trigger workflow_instances slots_go
