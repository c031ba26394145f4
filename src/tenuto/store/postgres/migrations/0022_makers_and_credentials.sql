-- Oldest program: 16
--
-- Keys are found by the key that made them, and lines of the audit log name the credential of their
-- actor. Older programs leave it out.

ALTER TABLE tenuto.audit_log ADD COLUMN credential text COLLATE "C";

CREATE INDEX access_keys_by_maker ON tenuto.access_keys (tenant, created_by);

-- Made, and removed, by it:
-- + column audit_log credential text
-- + index access_keys access_keys_by_maker
