-- Oldest program: 23
--
-- Instances that a process was deciding on when it died. A second death quarantines one of them: no
-- process decides on it until somebody has released it.

CREATE TABLE quarantine (
    instance_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    place TEXT NOT NULL,
    process_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    is_quarantined INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER quarantine_ends AFTER DELETE ON workflow_instances
BEGIN
    DELETE FROM quarantine WHERE instance_id = old.id;
END;
