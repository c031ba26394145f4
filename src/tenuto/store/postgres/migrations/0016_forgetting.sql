-- Oldest program: 16
--
-- What is looked for when instances are forgotten: those below a root, and the key that one was started
-- with. Only children, and starts that have a key, pay for it.

CREATE INDEX workflow_instances_by_root
    ON tenuto.workflow_instances (root_id) WHERE root_id IS NOT NULL;
CREATE INDEX idempotency_keys_by_instance ON tenuto.idempotency_keys (instance_id);
