-- Oldest program: 45
--
-- Which limits each process decides by, and the rules of the queue that are not applied yet.

ALTER TABLE processes ADD COLUMN limits_known INTEGER NOT NULL DEFAULT 0;

ALTER TABLE queue_rules ADD COLUMN unapplied INTEGER;
