-- Oldest program: 24
--
-- Which instance led to another, as its root or by events, through however many of either: so that
-- those of one origin that have not ended can be counted. Instances that were started from outside
-- have no origin, and are not in the index.

ALTER TABLE workflow_instances ADD COLUMN origin_id TEXT;

ALTER TABLE events ADD COLUMN origin TEXT;

CREATE INDEX workflow_instances_open_by_origin
ON workflow_instances (origin_id) WHERE origin_id IS NOT NULL AND completed_at IS NULL;
