-- Oldest program: 3
--
-- What an instance without an owner owes the world, who owns the others, and what went wrong.

CREATE TABLE timers (
    instance_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    due INTEGER NOT NULL,
    PRIMARY KEY (instance_id, kind, node, iteration)
) STRICT, WITHOUT ROWID;

CREATE INDEX timers_by_due ON timers (due);

-- The unique key begins with the mail's id because pages continue after one; a database that is
-- spread over servers turns it round.
CREATE TABLE mailbox (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    input BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (id, instance_id)
) STRICT;

CREATE TABLE processes (
    id TEXT NOT NULL PRIMARY KEY,
    started_at INTEGER NOT NULL,
    stopped_at INTEGER,
    is_clean INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE owners (
    instance_id TEXT NOT NULL PRIMARY KEY,
    process_id TEXT NOT NULL,
    epoch INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX owners_by_process ON owners (process_id);

CREATE TABLE dead_letters (
    instance_id TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    task_id TEXT,
    input BLOB,
    error BLOB,
    output BLOB,
    at INTEGER NOT NULL,
    PRIMARY KEY (instance_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX dead_letters_newest ON dead_letters (tenant, at, id, instance_id);
