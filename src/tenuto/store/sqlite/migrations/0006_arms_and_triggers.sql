-- Oldest program: 6
--
-- One wait may be open for several events, and events cancel and start instances too: beside waits
-- there are triggers, told apart by their arm. What became of an event says by which of them it came,
-- is found by the event, and says why it was refused. An event says how many it cancelled and started.

CREATE TABLE subscriptions (
    number INTEGER PRIMARY KEY,
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    arm TEXT NOT NULL,
    position INTEGER NOT NULL,
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
    follows INTEGER NOT NULL,
    UNIQUE (instance_id, node, iteration, arm)
) STRICT;

INSERT INTO subscriptions (
    number, instance_id, node, iteration, arm, position, attempt, tenant, pattern, is_wildcard,
    condition, captures, term_paths, term_values, since, opened_at, correlation_id, looked_back,
    follows
)
SELECT
    number, instance_id, node, iteration, '', 0, attempt, tenant, pattern, is_wildcard,
    condition, captures, term_paths, term_values, since, opened_at, correlation_id, looked_back,
    follows
FROM workflow_event_subscriptions;

DROP TABLE workflow_event_subscriptions;
ALTER TABLE subscriptions RENAME TO workflow_event_subscriptions;

CREATE INDEX workflow_event_subscriptions_by_term
    ON workflow_event_subscriptions
    (tenant, pattern, term_paths, term_values, instance_id, node, iteration, arm);
CREATE INDEX workflow_event_subscriptions_wildcards
    ON workflow_event_subscriptions (tenant, pattern, term_paths)
    WHERE is_wildcard = 1;
CREATE INDEX workflow_event_subscriptions_unlooked
    ON workflow_event_subscriptions (instance_id, node, iteration, arm)
    WHERE looked_back = 0;

ALTER TABLE events ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN started INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN chain INTEGER NOT NULL DEFAULT 0;

CREATE TABLE deliveries (
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    arm TEXT NOT NULL,
    event_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    PRIMARY KEY (instance_id, node, iteration, arm, event_id)
) STRICT, WITHOUT ROWID;

INSERT INTO deliveries (instance_id, node, iteration, arm, event_id, outcome)
SELECT instance_id, node, iteration, '', event_id, outcome FROM event_deliveries;

DROP TABLE event_deliveries;
ALTER TABLE deliveries RENAME TO event_deliveries;

CREATE INDEX event_deliveries_by_event ON event_deliveries (event_id);
