-- Oldest program: 7
--
-- Who listens for events, what they have to be told, and what is on its way to them. A row of the
-- outbox is written with what it tells of: a stretch of a log, or an event of the inbox. Of what is
-- on its way to one listener in one stream only the first is due: the others follow it.

CREATE TABLE listeners (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    patterns TEXT NOT NULL,
    level INTEGER NOT NULL,
    hears_inbox INTEGER NOT NULL,
    settings BLOB NOT NULL,
    health BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (tenant, kind, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX listeners_by_id ON listeners (id);

CREATE TABLE outbox (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    event_number INTEGER
) STRICT;

CREATE UNIQUE INDEX outbox_by_event ON outbox (event_number) WHERE event_number IS NOT NULL;

CREATE TABLE webhook_deliveries (
    number INTEGER PRIMARY KEY,
    listener_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    stream TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    due INTEGER,
    UNIQUE (listener_id, event_id)
) STRICT;

CREATE INDEX webhook_deliveries_by_stream ON webhook_deliveries (listener_id, stream, number);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (listener_id, due, number)
WHERE due IS NOT NULL;
