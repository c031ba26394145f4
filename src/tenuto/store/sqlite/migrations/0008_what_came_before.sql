-- Oldest program: 8
--
-- A wait looks back from where its instance began, in the order of storing and not by anybody's clock.
-- Of instances that were there before that is not known: for them the time counts.

ALTER TABLE workflow_instances ADD COLUMN follows INTEGER;

DROP INDEX events_by_pattern;
CREATE INDEX events_by_pattern ON events (tenant, pattern, number);
