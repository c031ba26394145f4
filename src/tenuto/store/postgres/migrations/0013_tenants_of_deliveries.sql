-- Oldest program: 7
--
-- Two tenants may have events of one id: whom an event went to says whose it is. A program that does not
-- know that takes every event for one of the tenant `default`: until the last of them is gone, only that
-- one may be used.

ALTER TABLE tenuto.event_deliveries ADD COLUMN tenant text COLLATE "C" NOT NULL DEFAULT 'default';

DROP INDEX tenuto.event_deliveries_by_event;
CREATE INDEX event_deliveries_by_event ON tenuto.event_deliveries (event_id, tenant);

-- Made, and removed, by it:
-- + column event_deliveries tenant text
