-- Oldest program: 7
--
-- An event is looked for by its id first: while the planner knows nothing of the table, no other index
-- looks as good to it.

ALTER TABLE tenuto.events DROP CONSTRAINT events_tenant_id_key;
CREATE UNIQUE INDEX events_by_id ON tenuto.events (id, tenant);

-- Made, and removed, by it:
-- + key events id,tenant unique
-- - key events tenant,id unique
