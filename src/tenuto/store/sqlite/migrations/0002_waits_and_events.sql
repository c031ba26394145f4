-- Oldest program: 2
--
-- An event finds waits by (pattern, term), a wait finds events by (pattern, time received). Both
-- carry a mark until they have looked for each other.

CREATE TABLE workflow_event_subscriptions (
    number INTEGER PRIMARY KEY,
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    pattern TEXT NOT NULL,
    is_wildcard INTEGER NOT NULL,
    condition TEXT,
    captures BLOB NOT NULL,
    term_paths TEXT NOT NULL,
    term_values TEXT NOT NULL,
    since INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    correlation_id TEXT,
    looked_back INTEGER NOT NULL,
    UNIQUE (instance_id, node, iteration)
) STRICT;

CREATE INDEX workflow_event_subscriptions_by_term
    ON workflow_event_subscriptions
    (tenant, pattern, term_paths, term_values, instance_id, node, iteration);
CREATE INDEX workflow_event_subscriptions_wildcards
    ON workflow_event_subscriptions (tenant, pattern, term_paths)
    WHERE is_wildcard = 1;
CREATE INDEX workflow_event_subscriptions_unlooked
    ON workflow_event_subscriptions (instance_id, node, iteration)
    WHERE looked_back = 0;

CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    pattern TEXT NOT NULL,
    payload BLOB NOT NULL,
    received_at INTEGER NOT NULL,
    timestamp INTEGER,
    correlation_id TEXT,
    content_hash BLOB NOT NULL,
    turn_id TEXT NOT NULL,
    resumed INTEGER NOT NULL DEFAULT 0,
    matched_at INTEGER,
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX events_by_pattern ON events (tenant, pattern, received_at, number);
CREATE INDEX events_by_time ON events (tenant, received_at, number);
CREATE INDEX events_unmatched ON events (number) WHERE matched_at IS NULL;

CREATE TABLE event_deliveries (
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    event_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (instance_id, node, iteration, event_id)
) STRICT, WITHOUT ROWID;
