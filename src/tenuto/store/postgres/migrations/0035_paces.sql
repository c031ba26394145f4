-- Oldest program: 29
--
-- Starts that become one, and rates of starts: what a request says of them, and what is known of each key.
-- Rules of the queue.

ALTER TABLE tenuto.slots ADD COLUMN pace text COLLATE "C", ADD COLUMN above text COLLATE "C";

CREATE INDEX slots_settling
    ON tenuto.slots (blocked_on, asked_at, instance_id) WHERE state = 'settling';

CREATE TABLE tenuto.paces (
    tenant text COLLATE "C" NOT NULL,
    pace_key text COLLATE "C" NOT NULL,
    next_at bigint,
    kept_until bigint NOT NULL,
    document text COLLATE "C" NOT NULL,
    PRIMARY KEY (pace_key)
);

CREATE INDEX paces_due ON tenuto.paces (next_at) WHERE next_at IS NOT NULL;

CREATE INDEX paces_old ON tenuto.paces (kept_until);

CREATE TABLE tenuto.queue_rules (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    expression text COLLATE "C" NOT NULL,
    priority bigint,
    is_hold bigint NOT NULL,
    note text COLLATE "C",
    created_at bigint NOT NULL,
    created_by text COLLATE "C",
    PRIMARY KEY (tenant, id)
);

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + table paces paces
-- + table queue_rules queue_rules
-- + column paces document text
-- + column paces kept_until bigint
-- + column paces next_at bigint
-- + column paces pace_key text
-- + column paces tenant text
-- + column queue_rules created_at bigint
-- + column queue_rules created_by text
-- + column queue_rules expression text
-- + column queue_rules id text
-- + column queue_rules is_hold bigint
-- + column queue_rules note text
-- + column queue_rules priority bigint
-- + column queue_rules tenant text
-- + column slots above text
-- + column slots pace text
-- + index paces paces_due
-- + index paces paces_old
-- + index slots slots_settling
-- + key paces pace_key primary
-- + key queue_rules tenant,id primary
