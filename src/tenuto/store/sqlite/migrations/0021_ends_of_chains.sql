-- Oldest program: 21
--
-- A line of the audit log is the end of its chain: a trigger says so, as the one statement that inserts
-- lines does in PostgreSQL.

CREATE TRIGGER audit_log_grew AFTER INSERT ON audit_log
BEGIN
    UPDATE audit_heads SET number = new.number, hash = new.hash WHERE tenant = new.tenant;
END;
