-- Oldest program: 38
--
-- Which program each process is, so that a migration is refused while one lives that the schema does not
-- support. Which limits each process decides by, and the rules of the queue that are not applied yet.

ALTER TABLE tenuto.processes
ADD COLUMN program bigint NOT NULL DEFAULT 0, ADD COLUMN limits_known bigint NOT NULL DEFAULT 0;

ALTER TABLE tenuto.queue_rules ADD COLUMN unapplied bigint;

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + column processes limits_known bigint
-- + column processes program bigint
-- + column queue_rules unapplied bigint
