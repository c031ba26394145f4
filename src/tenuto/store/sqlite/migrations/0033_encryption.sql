-- Oldest program: 33
--
-- Patterns of events that are stored encrypted, keys with which values are encrypted, and keys that
-- were missing when events were matched.

CREATE TABLE encryption_marks (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, name)
) STRICT, WITHOUT ROWID;
