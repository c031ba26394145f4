-- Oldest program: 29
--
-- What the processes ask the limit of all instances to be, from their load.

CREATE TABLE tenuto.load_reports (
    tenant text COLLATE "C" NOT NULL,
    process_id text COLLATE "C" NOT NULL,
    asked bigint NOT NULL,
    loop_lag_ms bigint NOT NULL,
    commit_ms bigint NOT NULL,
    memory_percent bigint NOT NULL,
    reason text COLLATE "C" NOT NULL,
    at_ms bigint NOT NULL,
    PRIMARY KEY (process_id)
);

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + table load_reports load_reports
-- + column load_reports asked bigint
-- + column load_reports at_ms bigint
-- + column load_reports commit_ms bigint
-- + column load_reports loop_lag_ms bigint
-- + column load_reports memory_percent bigint
-- + column load_reports process_id text
-- + column load_reports reason text
-- + column load_reports tenant text
-- + key load_reports process_id primary
