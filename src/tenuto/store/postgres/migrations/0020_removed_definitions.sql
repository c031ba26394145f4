-- Oldest program: 16
--
-- Starts lock the version that they start, and a removal changes it: so one of them comes first.

ALTER TABLE tenuto.workflow_definitions ADD COLUMN is_removed bigint NOT NULL DEFAULT 0;

UPDATE tenuto.workflow_definitions AS version SET is_removed = 1
WHERE
    (
        SELECT newest.content FROM tenuto.workflow_definitions AS newest
        WHERE newest.tenant = version.tenant AND newest.id = version.id
        ORDER BY newest.version DESC LIMIT 1
    ) = 'null'::bytea;
