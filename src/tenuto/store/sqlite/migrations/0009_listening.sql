-- Oldest program: 9
--
-- A number that rises whenever somebody comes, goes or listens for other things: who tells keeps in
-- memory whom it tells, and reads this number to see whether that still holds. Triggers raise it, so
-- that no statement can forget to.

CREATE TABLE listening (
    version INTEGER NOT NULL
) STRICT;

INSERT INTO listening VALUES (1);

CREATE TRIGGER listeners_came AFTER INSERT ON listeners
BEGIN
    UPDATE listening SET version = version + 1;
END;

CREATE TRIGGER listeners_went AFTER DELETE ON listeners
BEGIN
    UPDATE listening SET version = version + 1;
END;

CREATE TRIGGER listeners_changed
AFTER UPDATE OF patterns, level, hears_inbox, settings, expires_at ON listeners
BEGIN
    UPDATE listening SET version = version + 1;
END;
