-- Oldest program: 29
--
-- Business calendars with their versions; schedules with what is next to do for each; and what became
-- of their ticks.

CREATE TABLE calendars (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    document BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    is_removed INTEGER NOT NULL,
    is_newest INTEGER NOT NULL,
    PRIMARY KEY (tenant, id, version)
) STRICT;

CREATE INDEX calendars_newest ON calendars (tenant, id, version) WHERE is_newest = 1;

CREATE TABLE schedules (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    content BLOB NOT NULL,
    revision INTEGER NOT NULL,
    version INTEGER NOT NULL,
    status TEXT NOT NULL,
    next_at INTEGER,
    next_tick INTEGER,
    handled INTEGER NOT NULL,
    workflow_id TEXT,
    calendar_id TEXT,
    note TEXT,
    problem TEXT,
    tries INTEGER NOT NULL,
    last_executed INTEGER,
    last_nominal INTEGER,
    last_instance_id TEXT,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    held_until INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;

CREATE INDEX schedules_due ON schedules (next_at, tenant, id) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_by_workflow ON schedules (tenant, workflow_id, id)
WHERE workflow_id IS NOT NULL;
CREATE INDEX schedules_by_calendar ON schedules (tenant, calendar_id, id)
WHERE calendar_id IS NOT NULL;

CREATE TABLE schedule_ticks (
    tenant TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    nominal INTEGER NOT NULL,
    is_range INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    instance_id TEXT,
    reason TEXT,
    count INTEGER NOT NULL,
    last INTEGER,
    is_open INTEGER NOT NULL,
    is_confirmed INTEGER NOT NULL,
    mark TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, schedule_id, nominal, is_range)
) STRICT;

CREATE INDEX schedule_ticks_open ON schedule_ticks (tenant, schedule_id, nominal)
WHERE is_open = 1;
