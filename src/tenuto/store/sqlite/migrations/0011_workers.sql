-- Oldest program: 11
--
-- Workers outside claim jobs of a tenant. Their leases belong to no process; they are extended by as
-- much as was asked for, and never beyond the time that the job may take. Who has called a job off
-- leaves a note of it, so that nobody begins with it. And what all processes sign with.

ALTER TABLE jobs ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
ALTER TABLE jobs ADD COLUMN timeout INTEGER NOT NULL DEFAULT 600000;
ALTER TABLE jobs ADD COLUMN silence INTEGER;
ALTER TABLE jobs ADD COLUMN is_outside INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN lease INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN overdue_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN details TEXT;
ALTER TABLE jobs ADD COLUMN is_called_off INTEGER NOT NULL DEFAULT 0;

CREATE INDEX jobs_of_tenant ON jobs (tenant, task_id, offered_at) WHERE leased_by IS NULL;

CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
