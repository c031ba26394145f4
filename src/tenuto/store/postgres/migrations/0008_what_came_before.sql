-- Oldest program: 7
--
-- A wait looks back from where its instance began, in the order of storing and not by anybody's clock.
-- Of instances that were there before, or were made by an older program, that is not known: for them
-- the time counts.

ALTER TABLE tenuto.workflow_instances ADD COLUMN follows bigint;

DROP INDEX tenuto.events_by_pattern;
CREATE INDEX events_by_pattern ON tenuto.events (tenant, pattern, number);

-- Made, and removed, by it:
-- + column workflow_instances follows bigint
