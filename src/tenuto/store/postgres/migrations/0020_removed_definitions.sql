-- Oldest program: 16
--
-- Starts lock the version that they start, and a removal changes it: so one of them comes first. A
-- trigger does that, so that it also holds for the versions that older programs save.

ALTER TABLE tenuto.workflow_definitions ADD COLUMN is_removed bigint NOT NULL DEFAULT 0;

CREATE FUNCTION tenuto.mark_removed() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE tenuto.workflow_definitions AS version SET is_removed = (new.content = 'null')::int
    WHERE
        version.tenant = new.tenant AND version.id = new.id
        AND version.is_removed <> (new.content = 'null')::int;
    RETURN NULL;
END
$$;

CREATE TRIGGER workflow_definitions_mark_removed
AFTER INSERT ON tenuto.workflow_definitions
FOR EACH ROW
EXECUTE FUNCTION tenuto.mark_removed();

UPDATE tenuto.workflow_definitions AS version SET is_removed = 1
WHERE
    (
        SELECT newest.content FROM tenuto.workflow_definitions AS newest
        WHERE newest.tenant = version.tenant AND newest.id = version.id
        ORDER BY newest.version DESC LIMIT 1
    ) = 'null';

-- Made, and removed, by it:
-- + column workflow_definitions is_removed bigint
-- + function - mark_removed
-- + trigger workflow_definitions workflow_definitions_mark_removed
