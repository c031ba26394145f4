-- Oldest program: 16
--
-- Patterns of events that are stored encrypted, keys with which values are encrypted, and keys that
-- were missing when events were matched.

CREATE TABLE tenuto.encryption_marks (
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, kind, name)
);

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + table encryption_marks encryption_marks
-- + column encryption_marks kind text
-- + column encryption_marks name text
-- + column encryption_marks tenant text
-- + key encryption_marks tenant,kind,name primary
