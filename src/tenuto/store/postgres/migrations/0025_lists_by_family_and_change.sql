-- Oldest program: 16
--
-- Instances are found by their parent, roots by having none, and all of them by when they changed.

CREATE INDEX workflow_instances_by_parent
    ON tenuto.workflow_instances (tenant, parent_id, created_at, id);

CREATE INDEX workflow_instances_by_change
    ON tenuto.workflow_instances (tenant, updated_at, id);

-- Made, and removed, by it:
-- + index workflow_instances workflow_instances_by_change
-- + index workflow_instances workflow_instances_by_parent
