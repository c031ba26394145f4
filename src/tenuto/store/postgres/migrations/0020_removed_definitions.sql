-- Oldest program: 16
--
-- Starts lock the version that they start, and a removal changes it: so one of them comes first. A
-- trigger does that, so that it also holds for the versions that older programs save. A version that was
-- removed stays so: saving the definition again makes a version above it.

ALTER TABLE tenuto.workflow_definitions ADD COLUMN is_removed bigint NOT NULL DEFAULT 0;

CREATE FUNCTION tenuto.mark_removed() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE tenuto.workflow_definitions AS version SET is_removed = 1
    WHERE
        version.tenant = new.tenant AND version.id = new.id
        AND version.version <= new.version AND version.is_removed = 0;
    RETURN NULL;
END
$$;

CREATE TRIGGER workflow_definitions_mark_removed
AFTER INSERT ON tenuto.workflow_definitions
FOR EACH ROW
WHEN (new.content = 'null')
EXECUTE FUNCTION tenuto.mark_removed();

UPDATE tenuto.workflow_definitions AS version SET is_removed = 1
WHERE EXISTS (
    SELECT 1 FROM tenuto.workflow_definitions AS later
    WHERE
        later.tenant = version.tenant AND later.id = version.id
        AND later.version >= version.version AND later.content = 'null'
);

-- Made, and removed, by it:
-- + column workflow_definitions is_removed bigint
-- + function - mark_removed
-- + trigger workflow_definitions workflow_definitions_mark_removed
