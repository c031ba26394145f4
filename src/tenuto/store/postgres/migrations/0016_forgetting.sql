-- Oldest program: 16
--
-- What is looked for when instances are forgotten: those below a root. Only children pay for it.

CREATE INDEX workflow_instances_by_root
    ON tenuto.workflow_instances (root_id) WHERE root_id IS NOT NULL;

-- Made, and removed, by it:
-- + index workflow_instances workflow_instances_by_root
