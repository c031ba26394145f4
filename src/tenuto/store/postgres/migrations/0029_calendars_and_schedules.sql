-- Oldest program: 16
--
-- Business calendars with their versions; schedules with what is next to do for each; and what became
-- of their ticks.

CREATE TABLE tenuto.calendars (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    document bytea NOT NULL,
    created_at bigint NOT NULL,
    created_by text COLLATE "C",
    is_removed bigint NOT NULL,
    is_newest bigint NOT NULL,
    PRIMARY KEY (tenant, id, version)
);

CREATE INDEX calendars_newest ON tenuto.calendars (tenant, id, version) WHERE is_newest = 1;

CREATE TABLE tenuto.schedules (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    revision bigint NOT NULL,
    version bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    next_at bigint,
    next_tick bigint,
    handled bigint NOT NULL,
    workflow_id text COLLATE "C",
    calendar_id text COLLATE "C",
    note text COLLATE "C",
    problem text COLLATE "C",
    tries bigint NOT NULL,
    last_executed bigint,
    last_nominal bigint,
    last_instance_id text COLLATE "C",
    created_at bigint NOT NULL,
    created_by text COLLATE "C",
    changed_at bigint NOT NULL,
    changed_by text COLLATE "C",
    held_until bigint NOT NULL,
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX schedules_due ON tenuto.schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_by_workflow ON tenuto.schedules (tenant, workflow_id, id)
WHERE workflow_id IS NOT NULL;
CREATE INDEX schedules_by_calendar ON tenuto.schedules (tenant, calendar_id, id)
WHERE calendar_id IS NOT NULL;

CREATE TABLE tenuto.schedule_ticks (
    tenant text COLLATE "C" NOT NULL,
    schedule_id text COLLATE "C" NOT NULL,
    nominal bigint NOT NULL,
    is_range bigint NOT NULL,
    at bigint NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    instance_id text COLLATE "C",
    reason text COLLATE "C",
    count bigint NOT NULL,
    last bigint,
    is_open bigint NOT NULL,
    is_confirmed bigint NOT NULL,
    mark text COLLATE "C" NOT NULL,
    recorded_at bigint NOT NULL,
    PRIMARY KEY (tenant, schedule_id, nominal, is_range)
) WITH (fillfactor = 90);

CREATE INDEX schedule_ticks_open ON tenuto.schedule_ticks (tenant, schedule_id, nominal)
WHERE is_open = 1;

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + table calendars calendars
-- + table schedule_ticks schedule_ticks
-- + table schedules schedules
-- + column calendars created_at bigint
-- + column calendars created_by text
-- + column calendars document bytea
-- + column calendars id text
-- + column calendars is_newest bigint
-- + column calendars is_removed bigint
-- + column calendars tenant text
-- + column calendars version bigint
-- + column schedule_ticks at bigint
-- + column schedule_ticks count bigint
-- + column schedule_ticks instance_id text
-- + column schedule_ticks is_confirmed bigint
-- + column schedule_ticks is_open bigint
-- + column schedule_ticks is_range bigint
-- + column schedule_ticks last bigint
-- + column schedule_ticks mark text
-- + column schedule_ticks nominal bigint
-- + column schedule_ticks outcome text
-- + column schedule_ticks reason text
-- + column schedule_ticks recorded_at bigint
-- + column schedule_ticks schedule_id text
-- + column schedule_ticks tenant text
-- + column schedules calendar_id text
-- + column schedules changed_at bigint
-- + column schedules changed_by text
-- + column schedules content bytea
-- + column schedules created_at bigint
-- + column schedules created_by text
-- + column schedules handled bigint
-- + column schedules held_until bigint
-- + column schedules id text
-- + column schedules last_executed bigint
-- + column schedules last_instance_id text
-- + column schedules last_nominal bigint
-- + column schedules next_at bigint
-- + column schedules next_tick bigint
-- + column schedules note text
-- + column schedules problem text
-- + column schedules revision bigint
-- + column schedules status text
-- + column schedules tenant text
-- + column schedules tries bigint
-- + column schedules version bigint
-- + column schedules workflow_id text
-- + index calendars calendars_newest
-- + index schedule_ticks schedule_ticks_open
-- + index schedules schedules_by_calendar
-- + index schedules schedules_by_workflow
-- + index schedules schedules_due
-- + key calendars tenant,id,version primary
-- + key schedule_ticks tenant,schedule_id,nominal,is_range primary
-- + key schedules tenant,id primary
