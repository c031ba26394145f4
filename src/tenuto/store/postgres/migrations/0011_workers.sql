-- Oldest program: 7
--
-- Workers outside claim jobs of a tenant. Their leases belong to no process; they are extended by as
-- much as was asked for, and never beyond the time that the job may take. Who has called a job off
-- leaves a note of it, so that nobody begins with it. And what all processes sign with.
-- A program that does not know of workers takes their leases for those of a process that is gone, and
-- has the attempts recorded as lost.

ALTER TABLE tenuto.jobs
    ADD COLUMN tenant text COLLATE "C" NOT NULL DEFAULT 'default',
    ADD COLUMN timeout bigint NOT NULL DEFAULT 600000,
    ADD COLUMN silence bigint,
    ADD COLUMN is_outside boolean NOT NULL DEFAULT false,
    ADD COLUMN lease bigint NOT NULL DEFAULT 0,
    ADD COLUMN overdue_at bigint NOT NULL DEFAULT 0,
    ADD COLUMN details text COLLATE "C",
    ADD COLUMN is_called_off boolean NOT NULL DEFAULT false;

CREATE INDEX jobs_of_tenant ON tenuto.jobs (tenant, task_id, offered_at) WHERE leased_by IS NULL;

CREATE TABLE tenuto.secrets (
    name text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);

-- Made, and removed, by it:
-- + table secrets secrets
-- + column jobs details text
-- + column jobs is_called_off boolean
-- + column jobs is_outside boolean
-- + column jobs lease bigint
-- + column jobs overdue_at bigint
-- + column jobs silence bigint
-- + column jobs tenant text
-- + column jobs timeout bigint
-- + column secrets name text
-- + column secrets value bytea
-- + index jobs jobs_of_tenant
-- + key secrets name primary
