-- Oldest program: 13
--
-- Two tenants may have events of one id: whom an event went to says whose it is.

ALTER TABLE event_deliveries ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';

DROP INDEX event_deliveries_by_event;
CREATE INDEX event_deliveries_by_event ON event_deliveries (event_id, tenant);
