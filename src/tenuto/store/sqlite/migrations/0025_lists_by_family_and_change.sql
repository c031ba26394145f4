-- Oldest program: 25
--
-- Instances are found by their parent, roots by having none, and all of them by when they changed.

CREATE INDEX workflow_instances_by_parent
ON workflow_instances (tenant, parent_id, created_at);

CREATE INDEX workflow_instances_by_change
ON workflow_instances (tenant, updated_at);
