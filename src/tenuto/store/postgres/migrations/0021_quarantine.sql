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
