-- Oldest program: 38
--
-- Who asked for a slot: that process goes on with the instance once it has the slot, since clients wait
-- there for its end.

ALTER TABLE tenuto.slots ADD COLUMN asked_by text COLLATE "C";

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + column slots asked_by text
