-- Oldest program: 16
--
-- Instances that a process was deciding on when it died. A second death quarantines one of them: no
-- process decides on it until somebody has released it.

CREATE TABLE tenuto.quarantine (
    instance_id text COLLATE "C" NOT NULL PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    place text COLLATE "C" NOT NULL,
    process_id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    reason text COLLATE "C" NOT NULL,
    is_quarantined bigint NOT NULL
);

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + table quarantine quarantine
-- + column quarantine at bigint
-- + column quarantine instance_id text
-- + column quarantine is_quarantined bigint
-- + column quarantine place text
-- + column quarantine process_id text
-- + column quarantine reason text
-- + column quarantine tenant text
-- + key quarantine instance_id primary
