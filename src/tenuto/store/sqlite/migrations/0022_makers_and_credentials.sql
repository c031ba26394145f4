-- Oldest program: 22
--
-- Keys are found by the key that made them, and lines of the audit log name the credential of their
-- actor. Older programs leave it out.

ALTER TABLE audit_log ADD COLUMN credential TEXT;

CREATE INDEX access_keys_by_maker ON access_keys (tenant, created_by);
