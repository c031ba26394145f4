-- Oldest program: 16
--
-- Which instance led to another, as its root or by events, through however many of either: so that
-- those of one origin that have not ended can be counted. Instances that were started from outside
-- have no origin, and are not in the index.

ALTER TABLE tenuto.workflow_instances ADD COLUMN origin_id text COLLATE "C";

ALTER TABLE tenuto.events ADD COLUMN origin text COLLATE "C";

CREATE INDEX workflow_instances_open_by_origin
    ON tenuto.workflow_instances (origin_id) WHERE origin_id IS NOT NULL AND completed_at IS NULL;

-- Made, and removed, by it:
-- + column events origin text
-- + column workflow_instances origin_id text
-- + index workflow_instances workflow_instances_open_by_origin
