-- The columns of tables, in the order of the fields of a cold record, or of the named tuples of
-- `*columns.py`: fragments for the statements of every database.

-- fragment: key_columns
-- An API key.
id, tenant, name, role, scopes, hash, created_at, created_by, expires_at, revoked_at, last_used_at

-- fragment: audit_columns
-- A line of the audit log.
number, previous_hash, hash, id, tenant, at, actor, kind, action, target, outcome, source,
    request_id, credential, before, after

-- fragment: task_columns
-- A declared task.
tenant, id, version, document, is_pushed, created_at, updated_at

-- fragment: bulk_columns
-- A bulk operation.
tenant, id, content, progress, created_at, is_open, is_stopped, token

-- fragment: calendar_columns
-- A version of a calendar.
tenant, id, version, document, created_at, created_by, is_removed

-- fragment: schedule_columns
-- A schedule.
tenant, id, content, revision, version, status, next_at, next_tick, handled, workflow_id,
    calendar_id, note, problem, tries, last_executed, last_nominal, last_instance_id, created_at,
    created_by, changed_at, changed_by

-- fragment: tick_columns
-- A tick of a schedule.
tenant, schedule_id, nominal, is_range, at, outcome, instance_id, reason, count, last, is_open,
    is_confirmed, mark, recorded_at

-- fragment: data_source_columns
-- A data source.
tenant, id, version, document, created_at, created_by, changed_at, changed_by

-- fragment: data_query_columns
-- A data query.
tenant, id, version, data_source_id, document, created_at, created_by, changed_at, changed_by

-- fragment: tenant_secret_columns
-- A secret of a tenant.
tenant, name, sealed, destinations, changed_at, changed_by
-- fragment: slot_columns
-- A slot that is held or waited for.
instance_id, node, iteration, tenant, definition_id, keys, own_key, own_limit, on_full, number,
    rank_class, rank, priority, deadline, asked_at, pace, above, state, blocked_on,
    held_at

-- fragment: queue_rule_columns
-- A rule of a tenant's queue.
tenant, id, expression, priority, is_hold, note, created_at, created_by

-- fragment: concurrency_columns
-- The limits of the service, or of a tenant.
tenant, document, version, changed_at, changed_by

-- fragment: load_report_columns
-- What a process asks the limit of all instances to be.
tenant, process_id, asked, loop_lag_ms, commit_ms, memory_percent, reason, at_ms

-- fragment: instance_columns
-- An instance.
id, tenant, definition_id, definition_version, status, correlation_id, priority, deadline,
    created_at, updated_at, started_at, completed_at, current_steps, parent_id, root_id, rerun_of,
    origin_id, output, last_error, cancellation

-- fragment: searchable_columns
-- A value by which an instance is found.
instance_id, name, tenant, definition_id, value_text, created_at

-- fragment: entry_columns
-- An entry of the log of an instance.
seq, event_type, node_id, iteration, attempt, node_status, output_variable, payload, error_message,
    at_ms

-- fragment: wait_columns
-- An open wait, or a trigger.
instance_id, node, iteration, attempt, tenant, pattern, is_wildcard, condition, captures,
    term_paths, term_values, since, opened_at, correlation_id, looked_back, follows, arm, position

-- fragment: wait_replacement
-- Assignments that replace a wait or trigger by a newer one of the same key.
attempt = excluded.attempt,
    position = excluded.position,
    pattern = excluded.pattern,
    is_wildcard = excluded.is_wildcard,
    condition = excluded.condition,
    captures = excluded.captures,
    term_paths = excluded.term_paths,
    term_values = excluded.term_values,
    since = excluded.since,
    opened_at = excluded.opened_at,
    follows = excluded.follows

-- fragment: event_columns
-- An event of the inbox.
tenant, id, pattern, payload, received_at, timestamp, correlation_id, content_hash, chain,
    origin

-- fragment: job_columns
-- A job as it is offered.
instance_id, node, iteration, attempt, task_id, offered_at, tenant, timeout, silence, is_called_off,
is_limited

-- fragment: dead_letter_columns
-- A dead letter.
instance_id, id, tenant, kind, node, iteration, attempt, task_id, input, error, output, at

-- fragment: listener_columns
-- A listener.
tenant, kind, id, patterns, level, hears_inbox, settings, health, created_at, expires_at

-- fragment: posting_columns
-- A delivery to a listener.
listener_id, event_id, stream, body, created_at, attempts
