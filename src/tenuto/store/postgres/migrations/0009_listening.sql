-- Oldest program: 9
--
-- A number that rises whenever somebody comes, goes or listens for other things: who tells keeps in
-- memory whom it tells, and reads this number to see whether that still holds. It is a row and no
-- sequence, so that whoever reads it sees those whom it counts. A trigger raises it, so that no
-- statement can forget to.

CREATE TABLE tenuto.listening (
    id bigint PRIMARY KEY,
    version bigint NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION tenuto.listeners_changed() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO tenuto.listening AS known (id, version) VALUES (1, 1)
    ON CONFLICT (id) DO UPDATE SET version = known.version + 1;
    RETURN NULL;
END
$$;

CREATE TRIGGER listeners_changed
AFTER INSERT OR DELETE OR UPDATE OF patterns, level, hears_inbox, settings, expires_at
ON tenuto.listeners
FOR EACH STATEMENT
EXECUTE FUNCTION tenuto.listeners_changed();

-- Made, and removed, by it:
-- + table listening listening
-- + column listening id bigint
-- + column listening version bigint
-- + key listening id primary
-- + function - listeners_changed
-- + trigger listeners listeners_changed
