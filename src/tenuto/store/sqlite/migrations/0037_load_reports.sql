-- Oldest program: 37
--
-- What the processes ask the limit of all instances to be, from their load.

CREATE TABLE load_reports (
    tenant TEXT NOT NULL,
    process_id TEXT NOT NULL,
    asked INTEGER NOT NULL,
    loop_lag_ms INTEGER NOT NULL,
    commit_ms INTEGER NOT NULL,
    memory_percent INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (process_id)
) STRICT;
