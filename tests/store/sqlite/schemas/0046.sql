CREATE TABLE access_keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    scopes TEXT,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_heads (
    tenant TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_log (
    tenant TEXT NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    outcome TEXT NOT NULL,
    source TEXT NOT NULL,
    request_id TEXT NOT NULL,
    before BLOB,
    after BLOB,
    previous_hash BLOB NOT NULL,
    hash BLOB NOT NULL, credential TEXT,
    PRIMARY KEY (tenant, number)
) STRICT;

CREATE TABLE bulk_operations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    content BLOB NOT NULL,
    progress BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    is_open INTEGER NOT NULL,
    is_stopped INTEGER NOT NULL,
    token INTEGER NOT NULL,
    held_until INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE concurrency (
    tenant TEXT NOT NULL,
    document BLOB NOT NULL,
    version INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT, changes INTEGER NOT NULL DEFAULT 0, ranked_to TEXT,
    PRIMARY KEY (tenant)
) STRICT;

CREATE TABLE data_queries (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    data_source_id TEXT NOT NULL,
    document BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;

CREATE TABLE data_sources (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    document BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    PRIMARY KEY (tenant, id)
) STRICT;

CREATE TABLE dead_letters (
    instance_id TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    task_id TEXT,
    input BLOB,
    error BLOB,
    output BLOB,
    at INTEGER NOT NULL,
    PRIMARY KEY (instance_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE encryption_marks (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE "event_deliveries" (
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    arm TEXT NOT NULL,
    event_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT, tenant TEXT NOT NULL DEFAULT 'default',
    PRIMARY KEY (instance_id, node, iteration, arm, event_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    pattern TEXT NOT NULL,
    payload BLOB NOT NULL,
    received_at INTEGER NOT NULL,
    timestamp INTEGER,
    correlation_id TEXT,
    content_hash BLOB NOT NULL,
    turn_id TEXT NOT NULL,
    resumed INTEGER NOT NULL DEFAULT 0,
    matched_at INTEGER, cancelled INTEGER NOT NULL DEFAULT 0, started INTEGER NOT NULL DEFAULT 0, chain INTEGER NOT NULL DEFAULT 0, origin TEXT, mark_space BLOB,
    UNIQUE (tenant, id)
) STRICT;

CREATE TABLE idempotency_keys (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    offered_at INTEGER NOT NULL,
    token INTEGER NOT NULL DEFAULT 0,
    leased_by TEXT,
    leased_until INTEGER, tenant TEXT NOT NULL DEFAULT 'default', timeout INTEGER NOT NULL DEFAULT 600000, silence INTEGER, is_outside INTEGER NOT NULL DEFAULT 0, lease INTEGER NOT NULL DEFAULT 0, overdue_at INTEGER NOT NULL DEFAULT 0, details TEXT, is_called_off INTEGER NOT NULL DEFAULT 0, is_limited INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (instance_id, node, iteration, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE listeners (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    patterns TEXT NOT NULL,
    level INTEGER NOT NULL,
    hears_inbox INTEGER NOT NULL,
    settings BLOB NOT NULL,
    health BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (tenant, kind, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE listening (
    version INTEGER NOT NULL
) STRICT;

CREATE TABLE load_reports (
    tenant TEXT NOT NULL,
    process_id TEXT NOT NULL,
    asked INTEGER NOT NULL,
    loop_lag_ms INTEGER NOT NULL,
    commit_ms INTEGER NOT NULL,
    memory_percent INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (process_id)
) STRICT;

CREATE TABLE mailbox (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    input BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (id, instance_id)
) STRICT;

CREATE TABLE outbox (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    event_number INTEGER
) STRICT;

CREATE TABLE owners (
    instance_id TEXT NOT NULL PRIMARY KEY,
    process_id TEXT NOT NULL,
    epoch INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE paces (
    tenant TEXT NOT NULL,
    pace_key TEXT NOT NULL,
    next_at INTEGER,
    kept_until INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (pace_key)
) STRICT;

CREATE TABLE processes (
    id TEXT NOT NULL PRIMARY KEY,
    started_at INTEGER NOT NULL,
    stopped_at INTEGER,
    is_clean INTEGER NOT NULL DEFAULT 0
, seen_at INTEGER NOT NULL DEFAULT 0, limits_known INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;

CREATE TABLE push_targets (
    tenant TEXT NOT NULL,
    task_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (tenant, task_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE quarantine (
    instance_id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    place TEXT NOT NULL,
    process_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    is_quarantined INTEGER NOT NULL
, version INTEGER NOT NULL DEFAULT 0, deaths INTEGER NOT NULL DEFAULT 1) STRICT, WITHOUT ROWID;

CREATE TABLE queue_rules (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    expression TEXT NOT NULL,
    priority INTEGER,
    is_hold INTEGER NOT NULL,
    note TEXT,
    created_at INTEGER NOT NULL,
    created_by TEXT, unapplied INTEGER,
    PRIMARY KEY (tenant, id)
) STRICT;

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

CREATE TABLE schema_info (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    version INTEGER NOT NULL,
    oldest_program INTEGER NOT NULL
) STRICT;

CREATE TABLE secrets (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE slot_counts (
    tenant TEXT NOT NULL,
    limit_key TEXT NOT NULL,
    taken INTEGER NOT NULL, is_waited_for INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (limit_key)
) STRICT;

CREATE TABLE slots (
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    tenant TEXT NOT NULL,
    definition_id TEXT NOT NULL,
    keys TEXT NOT NULL,
    own_key TEXT,
    own_limit INTEGER NOT NULL,
    on_full TEXT NOT NULL,
    number INTEGER NOT NULL,
    rank_class INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    deadline INTEGER,
    asked_at INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    blocked_on TEXT NOT NULL DEFAULT '',
    held_at INTEGER, pace TEXT, above TEXT,
    PRIMARY KEY (instance_id, node, iteration)
) STRICT;

CREATE TABLE slots_freed (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    keys TEXT NOT NULL,
    amount INTEGER NOT NULL
) STRICT;

CREATE TABLE task_definitions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    document BLOB NOT NULL,
    is_pushed INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_logs (
    tenant TEXT NOT NULL,
    instance_id TEXT NOT NULL,
    step TEXT NOT NULL,
    iteration TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    first INTEGER NOT NULL,
    size INTEGER NOT NULL,
    lines BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (instance_id, step, iteration, attempt, first)
) STRICT;

CREATE TABLE task_rates (
    tenant TEXT NOT NULL,
    task_id TEXT NOT NULL,
    tokens INTEGER,
    tokens_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, task_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant_secrets (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    sealed BLOB NOT NULL,
    destinations TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT,
    PRIMARY KEY (tenant, name)
) STRICT;

CREATE TABLE timers (
    instance_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    due INTEGER NOT NULL,
    PRIMARY KEY (instance_id, kind, node, iteration)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_deliveries (
    number INTEGER PRIMARY KEY,
    listener_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    stream TEXT NOT NULL,
    body BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    due INTEGER,
    UNIQUE (listener_id, event_id)
) STRICT;

CREATE TABLE workers (
    tenant TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    task_ids TEXT,
    left_out INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    PRIMARY KEY (tenant, worker_id)
) STRICT;

CREATE TABLE workflow_current_steps (
    instance_id TEXT NOT NULL,
    step_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (instance_id, step_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_definitions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    content BLOB NOT NULL,
    content_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE "workflow_event_subscriptions" (
    number INTEGER PRIMARY KEY,
    instance_id TEXT NOT NULL,
    node TEXT NOT NULL,
    iteration TEXT NOT NULL,
    arm TEXT NOT NULL,
    position INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    pattern TEXT NOT NULL,
    is_wildcard INTEGER NOT NULL,
    condition TEXT,
    captures BLOB NOT NULL,
    term_paths TEXT NOT NULL,
    term_values TEXT NOT NULL,
    since INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    correlation_id TEXT,
    looked_back INTEGER NOT NULL,
    follows INTEGER NOT NULL,
    UNIQUE (instance_id, node, iteration, arm)
) STRICT;

CREATE TABLE workflow_execution_history (
    instance_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    node_id TEXT,
    iteration TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    node_status TEXT,
    output_variable TEXT,
    payload BLOB,
    error_message TEXT,
    at_ms INTEGER NOT NULL,
    turn_id TEXT,
    PRIMARY KEY (instance_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_instances (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    definition_id TEXT NOT NULL,
    definition_version INTEGER NOT NULL,
    status TEXT NOT NULL,
    correlation_id TEXT,
    priority INTEGER NOT NULL,
    deadline INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    started_at INTEGER,
    completed_at INTEGER,
    current_steps TEXT NOT NULL,
    parent_id TEXT,
    root_id TEXT,
    rerun_of TEXT,
    output BLOB,
    last_error BLOB,
    cancellation BLOB
, follows INTEGER, origin_id TEXT) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_searchable_values (
    instance_id TEXT NOT NULL,
    name TEXT NOT NULL,
    tenant TEXT NOT NULL,
    definition_id TEXT NOT NULL,
    value_text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (instance_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE workflow_snapshots (
    instance_id TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    state BLOB NOT NULL
) STRICT;

CREATE INDEX access_keys_by_maker ON access_keys (tenant, created_by);

CREATE INDEX access_keys_by_tenant ON access_keys (tenant, created_at, id);

CREATE UNIQUE INDEX audit_log_by_id ON audit_log (tenant, id);

CREATE INDEX bulk_operations_newest ON bulk_operations (tenant, created_at, id);

CREATE INDEX bulk_operations_open ON bulk_operations (held_until) WHERE is_open = 1;

CREATE INDEX calendars_newest ON calendars (tenant, id, version) WHERE is_newest = 1;

CREATE INDEX data_queries_by_source ON data_queries (tenant, data_source_id, id);

CREATE INDEX dead_letters_newest ON dead_letters (tenant, at, id, instance_id);

CREATE INDEX event_deliveries_by_event ON event_deliveries (event_id, tenant);

CREATE INDEX events_by_pattern ON events (tenant, pattern, number);

CREATE INDEX events_by_time ON events (tenant, received_at, number);

CREATE INDEX events_unmatched ON events (number) WHERE matched_at IS NULL;

CREATE INDEX idempotency_keys_by_instance ON idempotency_keys (instance_id);

CREATE INDEX jobs_leased ON jobs (leased_until) WHERE leased_by IS NOT NULL;

CREATE INDEX jobs_limited ON jobs (tenant, task_id) WHERE leased_by IS NULL AND is_limited;

CREATE INDEX jobs_limited_held ON jobs (tenant, task_id) WHERE leased_by IS NOT NULL AND is_limited;

CREATE INDEX jobs_of_tenant ON jobs (tenant, task_id, offered_at) WHERE leased_by IS NULL;

CREATE INDEX jobs_offered ON jobs (task_id, offered_at) WHERE leased_by IS NULL;

CREATE INDEX listeners_by_id ON listeners (id);

CREATE UNIQUE INDEX outbox_by_event ON outbox (event_number) WHERE event_number IS NOT NULL;

CREATE INDEX outbox_by_tenant ON outbox (tenant, number);

CREATE INDEX owners_by_process ON owners (process_id);

CREATE INDEX paces_due ON paces (next_at) WHERE next_at IS NOT NULL;

CREATE INDEX paces_old ON paces (kept_until);

CREATE INDEX schedule_ticks_open ON schedule_ticks (tenant, schedule_id, nominal)
WHERE is_open = 1;

CREATE INDEX schedules_by_calendar ON schedules (tenant, calendar_id, id)
WHERE calendar_id IS NOT NULL;

CREATE INDEX schedules_by_workflow ON schedules (tenant, workflow_id, id)
WHERE workflow_id IS NOT NULL;

CREATE INDEX schedules_due ON schedules (next_at, tenant, id) WHERE next_at IS NOT NULL;

CREATE INDEX slots_held ON slots (tenant, held_at) WHERE state = 'held';

CREATE INDEX slots_of_key ON slots (own_key, state, asked_at) WHERE own_key IS NOT NULL;

CREATE INDEX slots_queue ON slots (tenant, rank_class, rank, instance_id, node, iteration)
WHERE state <> 'held';

CREATE INDEX slots_settling ON slots (blocked_on, asked_at, instance_id) WHERE state = 'settling';

CREATE INDEX slots_waiting ON slots (blocked_on, tenant, rank_class, rank, instance_id, node, iteration)
WHERE state = 'waiting';

CREATE INDEX task_definitions_pushed ON task_definitions (tenant, id) WHERE is_pushed;

CREATE INDEX task_logs_by_time ON task_logs (instance_id, at, step, iteration, attempt, first);

CREATE INDEX timers_by_due ON timers (due);

CREATE INDEX webhook_deliveries_by_stream ON webhook_deliveries (listener_id, stream, number);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (listener_id, due, number)
WHERE due IS NOT NULL;

CREATE INDEX webhook_deliveries_tried
ON webhook_deliveries (listener_id, due, number) WHERE due IS NOT NULL AND attempts > 0;

CREATE INDEX webhook_deliveries_untried
ON webhook_deliveries (listener_id, due, number) WHERE due IS NOT NULL AND attempts = 0;

CREATE INDEX workers_by_time ON workers (last_seen);

CREATE INDEX workers_of_tenant_by_time ON workers (tenant, last_seen, worker_id);

CREATE INDEX workflow_current_steps_by_step
    ON workflow_current_steps (tenant, step_id, created_at, instance_id);

CREATE INDEX workflow_definitions_rehearsed ON workflow_definitions (created_at)
WHERE id >= '~test:' AND id < '~tesu';

CREATE INDEX workflow_event_subscriptions_by_term
    ON workflow_event_subscriptions
    (tenant, pattern, term_paths, term_values, instance_id, node, iteration, arm);

CREATE INDEX workflow_event_subscriptions_unlooked
    ON workflow_event_subscriptions (instance_id, node, iteration, arm)
    WHERE looked_back = 0;

CREATE INDEX workflow_event_subscriptions_wildcards
    ON workflow_event_subscriptions (tenant, pattern, term_paths)
    WHERE is_wildcard = 1;

CREATE UNIQUE INDEX workflow_execution_history_node_once
    ON workflow_execution_history (instance_id, node_id, iteration, event_type, attempt)
    WHERE event_type >= 'NODE_' AND event_type < 'NODE`';

CREATE INDEX workflow_instances_by_change
ON workflow_instances (tenant, updated_at);

CREATE INDEX workflow_instances_by_correlation
    ON workflow_instances (tenant, correlation_id, created_at)
    WHERE correlation_id IS NOT NULL;

CREATE INDEX workflow_instances_by_definition
    ON workflow_instances (tenant, definition_id, status, created_at);

CREATE INDEX workflow_instances_by_parent
ON workflow_instances (tenant, parent_id, created_at);

CREATE INDEX workflow_instances_by_root
ON workflow_instances (root_id) WHERE root_id IS NOT NULL;

CREATE INDEX workflow_instances_by_status
    ON workflow_instances (tenant, status, created_at);

CREATE INDEX workflow_instances_open_by_origin
ON workflow_instances (origin_id) WHERE origin_id IS NOT NULL AND completed_at IS NULL;

CREATE INDEX workflow_searchable_values_by_value
ON workflow_searchable_values (
    tenant, definition_id, name, value_text, created_at, instance_id
);

CREATE TRIGGER audit_log_grew AFTER INSERT ON audit_log
BEGIN
    UPDATE audit_heads SET number = new.number, hash = new.hash WHERE tenant = new.tenant;
END;

CREATE TRIGGER listeners_came AFTER INSERT ON listeners
BEGIN
    UPDATE listening SET version = version + 1;
END;

CREATE TRIGGER listeners_changed
AFTER UPDATE OF patterns, level, hears_inbox, settings, expires_at ON listeners
BEGIN
    UPDATE listening SET version = version + 1;
END;

CREATE TRIGGER listeners_went AFTER DELETE ON listeners
BEGIN
    UPDATE listening SET version = version + 1;
END;

CREATE TRIGGER quarantine_ends AFTER DELETE ON workflow_instances
BEGIN
    DELETE FROM quarantine WHERE instance_id = old.id;
END;

CREATE TRIGGER slots_are_freed AFTER DELETE ON slots WHEN old.state = 'held'
BEGIN
    INSERT INTO slots_freed (tenant, keys, amount) VALUES (old.tenant, old.keys, 1);
END;

CREATE TRIGGER slots_are_freed_again AFTER UPDATE OF state ON slots
WHEN old.state = 'held' AND new.state <> 'held'
BEGIN
    INSERT INTO slots_freed (tenant, keys, amount) VALUES (old.tenant, old.keys, 1);
END;

CREATE TRIGGER slots_go AFTER DELETE ON workflow_instances
BEGIN
    DELETE FROM slots WHERE instance_id = old.id;
END;

CREATE TRIGGER task_logs_go AFTER DELETE ON workflow_instances
BEGIN
    DELETE FROM task_logs WHERE instance_id = old.id;
END;

CREATE TRIGGER workflow_instances_created
AFTER INSERT ON workflow_instances WHEN new.current_steps <> '[]'
BEGIN
    INSERT INTO workflow_current_steps (instance_id, step_id, tenant, created_at)
    SELECT DISTINCT new.id, step.value, new.tenant, new.created_at
    FROM json_each(new.current_steps) AS step;
END;

CREATE TRIGGER workflow_instances_moved
AFTER UPDATE OF current_steps ON workflow_instances WHEN old.current_steps <> new.current_steps
BEGIN
    DELETE FROM workflow_current_steps WHERE instance_id = new.id;
    INSERT INTO workflow_current_steps (instance_id, step_id, tenant, created_at)
    SELECT DISTINCT new.id, step.value, new.tenant, new.created_at
    FROM json_each(new.current_steps) AS step;
END;

