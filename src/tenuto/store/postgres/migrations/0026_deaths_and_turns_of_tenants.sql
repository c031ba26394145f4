-- Oldest program: 16
--
-- Of a suspect: how long its log was when its process died, and how many processes did. Of the
-- outbox: the rows of a tenant in a share, so that tenants take turns however many rows one of them
-- has.

ALTER TABLE tenuto.quarantine ADD COLUMN version bigint NOT NULL DEFAULT 0;

ALTER TABLE tenuto.quarantine ADD COLUMN deaths bigint NOT NULL DEFAULT 1;

CREATE INDEX outbox_by_tenant ON tenuto.outbox (share, tenant, number);

-- Made, and removed, by it:
-- + column quarantine deaths bigint
-- + column quarantine version bigint
-- + index outbox outbox_by_tenant
