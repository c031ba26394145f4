-- Oldest program: 26
--
-- Of a suspect: how long its log was when its process died, and how many processes did. Of the
-- outbox: the rows of a tenant, so that tenants take turns however many rows one of them has.

ALTER TABLE quarantine ADD COLUMN version INTEGER NOT NULL DEFAULT 0;

ALTER TABLE quarantine ADD COLUMN deaths INTEGER NOT NULL DEFAULT 1;

CREATE INDEX outbox_by_tenant ON outbox (tenant, number);
