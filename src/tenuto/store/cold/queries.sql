-- The statements of cold records, for every store: parameters are `:name`, every table says its schema,
-- `tenuto`. A database that needs another statement has one of the same name in its own file. SQLite gets
-- them without schemas, casts and row locks. The memory store has the tables of cold records alone, and
-- in `workflow_instances` the instance that a statement that writes names as `:instance_id`.

------------------------------------------------------------------------------------------- API keys

-- name: insert_access_key
-- Keep a new key; nothing where another key has its id.
INSERT INTO tenuto.access_keys ({key_columns})
VALUES (
    :id, :tenant, :name, :role, :scopes, :hash, :created_at, :created_by, :expires_at,
    :revoked_at, :last_used_at
)
ON CONFLICT (id) DO NOTHING RETURNING 1;

-- name: access_key
-- One key.
SELECT {key_columns} FROM tenuto.access_keys WHERE id = :id;

-- name: any_access_key
-- Whether there has ever been a key.
SELECT 1 FROM tenuto.access_keys WHERE id > '' ORDER BY id LIMIT 1;

-- name: access_keys
-- The keys of a tenant, oldest first.
SELECT {key_columns} FROM tenuto.access_keys WHERE tenant = :tenant ORDER BY tenant, created_at, id;

-- name: revoke_access_key
-- Revoke a key, unless it was revoked before; the key.
UPDATE tenuto.access_keys SET revoked_at = coalesce(revoked_at, :now)
WHERE id = :id AND tenant = :tenant
RETURNING {key_columns};

-- name: revoke_made_keys
-- Revoke the keys that were made by a key, and by those; the keys that were not revoked before.
WITH RECURSIVE made (identity) AS (
    SELECT 'key:' || id FROM tenuto.access_keys WHERE id = :id
    UNION
    SELECT 'key:' || child.id FROM made
    INNER JOIN tenuto.access_keys AS child
        ON child.tenant = :tenant AND child.created_by = made.identity
)

UPDATE tenuto.access_keys SET revoked_at = :now
WHERE
    tenant = :tenant AND revoked_at IS NULL
    AND created_by IN (SELECT identity FROM made)
RETURNING {key_columns};

-- name: lock_maker
-- Whether a key may make others: there is one writer, so that nothing has to be locked.
SELECT 1 FROM tenuto.access_keys WHERE id = :id AND revoked_at IS NULL;

-- name: keep_secret
-- Keep a value for all processes, unless there is one of that name.
INSERT INTO tenuto.secrets (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING;

-- name: secret
-- The value that is kept under a name.
SELECT value FROM tenuto.secrets WHERE name = :name;

------------------------------------------------------------------------------------------- audit log

-- name: audit
-- Lines of a tenant's audit log, newest first.
SELECT {audit_columns}
FROM tenuto.audit_log
WHERE
    tenant = :tenant AND number < :below AND at >= :since AND at < :until
    AND (:actor::text IS NULL OR actor = :actor)
    AND (:action::text IS NULL OR action = :action)
    AND (:target::text IS NULL OR target = :target)
ORDER BY tenant DESC, number DESC LIMIT :limit;

-- name: audit_lines
-- Lines of a tenant's audit log, ascending.
SELECT {audit_columns}
FROM tenuto.audit_log WHERE tenant = :tenant AND number > :after ORDER BY tenant, number LIMIT :limit;

-- name: audit_head
-- Where a chain ends.
SELECT number, hash FROM tenuto.audit_heads WHERE tenant = :tenant;

--------------------------------------------------------------------------------------- declared tasks

-- name: insert_task
-- Declare a task; nothing where there is one.
INSERT INTO tenuto.task_definitions ({task_columns})
VALUES (:tenant, :id, :version, :document, :is_pushed, :created_at, :updated_at)
ON CONFLICT (tenant, id) DO NOTHING RETURNING 1;

-- name: update_task
-- Change a task from one version to the next; not another one that was declared anew under its id.
UPDATE tenuto.task_definitions SET
    version = :version, document = :document, is_pushed = :is_pushed, updated_at = :updated_at
WHERE tenant = :tenant AND id = :id AND version = :version - 1 AND created_at = :created_at
RETURNING 1;

-- name: task
-- One task.
SELECT {task_columns} FROM tenuto.task_definitions WHERE tenant = :tenant AND id = :id;

-- name: tasks
-- The tasks of a tenant.
SELECT {task_columns}
FROM tenuto.task_definitions WHERE tenant = :tenant AND id > :after
ORDER BY tenant, id LIMIT :limit;

-- name: task_ids
-- The ids of the tasks of a tenant, whose documents may be large.
SELECT id FROM tenuto.task_definitions WHERE tenant = :tenant ORDER BY tenant, id LIMIT :limit;

-- name: pushed_task_ids
-- Those of them that are pushed.
SELECT id FROM tenuto.task_definitions
WHERE is_pushed AND tenant = :tenant ORDER BY tenant, id LIMIT :limit;

-- name: pushed_tasks
-- The tasks of all tenants that are pushed.
SELECT {task_columns}
FROM tenuto.task_definitions
WHERE is_pushed AND (tenant, id) > (:tenant, :id) ORDER BY tenant, id LIMIT :limit;

-- name: all_tasks
-- The tasks of all tenants.
SELECT {task_columns}
FROM tenuto.task_definitions
WHERE (tenant, id) > (:tenant, :id) ORDER BY tenant, id LIMIT :limit;

-- name: push_target
-- The state of a task's address.
SELECT version, state FROM tenuto.push_targets WHERE tenant = :tenant AND task_id = :task_id;

-- name: insert_push_target
-- The first state of a task's address.
INSERT INTO tenuto.push_targets (tenant, task_id, version, state)
VALUES (:tenant, :task_id, :version, :state)
ON CONFLICT (tenant, task_id) DO NOTHING RETURNING 1;

-- name: update_push_target
-- The next state of a task's address.
UPDATE tenuto.push_targets SET version = :version, state = :state
WHERE tenant = :tenant AND task_id = :task_id AND version = :version - 1
RETURNING 1;

-- name: remove_push_target
-- A state that says nothing any more.
DELETE FROM tenuto.push_targets
WHERE tenant = :tenant AND task_id = :task_id AND version = :version;

-------------------------------------------------------------------------------------- bulk operations

-- name: insert_bulk
-- Keep a new one, unless it is there.
INSERT INTO tenuto.bulk_operations ({bulk_columns}, held_until)
VALUES (:tenant, :id, :content, :progress, :created_at, :is_open, :is_stopped, :token, 0)
ON CONFLICT (tenant, id) DO NOTHING;

-- name: bulk
-- One of them.
SELECT {bulk_columns} FROM tenuto.bulk_operations WHERE tenant = :tenant AND id = :id;

-- name: bulks
-- Those of a tenant, newest first.
SELECT {bulk_columns}
FROM tenuto.bulk_operations
WHERE tenant = :tenant AND (created_at, id) < (:below_created::bigint, :below_id::text)
ORDER BY tenant DESC, created_at DESC, id DESC LIMIT :limit;

-- name: bytes_of_bulks
-- The bytes of the requests of a tenant's bulk operations.
SELECT coalesce(CAST(sum(length(content)) AS bigint), 0) FROM tenuto.bulk_operations
WHERE tenant = :tenant;

-- name: save_bulk
-- The progress of one, by the process that holds it.
UPDATE tenuto.bulk_operations SET progress = :progress, is_open = :is_open, held_until = :until
WHERE tenant = :tenant AND id = :id AND token = :token
RETURNING {bulk_columns};

-- name: stop_bulk
-- Ask that no process continues it.
UPDATE tenuto.bulk_operations SET is_stopped = 1, content = :content
WHERE tenant = :tenant AND id = :id
RETURNING {bulk_columns};

------------------------------------------------------------------------------------------- statistics

-- name: durations
-- When the newest completed instances of a tenant ended, and how long they took; without test runs.
SELECT completed_at, completed_at - created_at FROM tenuto.workflow_instances
WHERE
    tenant = :tenant AND status = 'COMPLETED' AND created_at >= :since AND completed_at IS NOT NULL
    AND (definition_id < '~test:' OR definition_id >= '~tesu')
ORDER BY created_at DESC LIMIT :most;

-- name: waiting_jobs
-- How many jobs of a tenant are unclaimed, and since when.
SELECT count(*), min(waiting.offered_at)
FROM (
    SELECT offered_at FROM tenuto.jobs WHERE tenant = :tenant AND leased_by IS NULL LIMIT :most
) AS waiting;

-- name: waiting_by_task
-- How many jobs of a tenant are unclaimed, and since when, by task.
SELECT waiting.task_id, count(*), min(waiting.offered_at)
FROM (
    SELECT task_id, offered_at FROM tenuto.jobs
    WHERE tenant = :tenant AND leased_by IS NULL LIMIT :most
) AS waiting
GROUP BY waiting.task_id;

-- name: held_by_task
-- How many jobs of a tenant have a valid lease, by task.
SELECT held.task_id, count(*)
FROM (
    SELECT task_id FROM tenuto.jobs
    WHERE leased_by IS NOT NULL AND leased_until > :now AND tenant = :tenant LIMIT :most
) AS held
GROUP BY held.task_id;

-- name: leases_of_workers
-- How many valid leases each worker of a tenant has.
SELECT held.leased_by, count(*)
FROM (
    SELECT leased_by FROM tenuto.jobs
    WHERE leased_by IS NOT NULL AND leased_until > :now AND tenant = :tenant AND is_outside
    LIMIT :most
) AS held
GROUP BY held.leased_by;

------------------------------------------------------------------------------------------ quarantine

-- fragment: suspect_columns
-- A suspect.
instance_id, tenant, place, process_id, at, reason, is_quarantined, version, deaths

-- name: put_suspect
-- Record a suspect. One that is known from another process is quarantined if that died of the same:
-- at the same place, or in the recovery that followed, before anything was added to the log. So is
-- one that a third process died of.
INSERT INTO tenuto.quarantine AS known ({suspect_columns})
VALUES (
    :instance_id,
    coalesce((SELECT i.tenant FROM tenuto.workflow_instances AS i WHERE i.id = :instance_id), ''),
    :place, :process_id, :at, :reason, :is_quarantined, :version, :deaths
)
ON CONFLICT (instance_id) DO UPDATE SET
    place = excluded.place,
    process_id = excluded.process_id,
    at = excluded.at,
    reason = excluded.reason,
    version = excluded.version,
    deaths = known.deaths + 1,
    is_quarantined = CASE
        WHEN excluded.is_quarantined = 1 OR known.place = excluded.place OR known.deaths > 1 THEN 1
        WHEN CAST(:is_recovery AS bigint) = 1 AND known.version = excluded.version THEN 1
        ELSE 0
    END
WHERE known.is_quarantined = 0 AND known.process_id <> excluded.process_id;

-- name: suspects
-- All suspects.
SELECT {suspect_columns} FROM tenuto.quarantine ORDER BY instance_id;

-- name: suspect
-- One suspect.
SELECT {suspect_columns} FROM tenuto.quarantine WHERE instance_id = :instance_id;

-- name: clear_suspect
-- Remove a suspect.
DELETE FROM tenuto.quarantine WHERE instance_id = :instance_id RETURNING 1;

------------------------------------------------------------------------------------------ task logs

-- fragment: task_log_columns
-- Lines that a task logged and printed.
instance_id, step, iteration, attempt, first, size, lines, at

-- name: put_task_log
-- Keep lines, if their instance is there and is not being erased, and their attempt has room for them.
-- Their tenant. Clocks of processes differ: the chunks of a step have times in the order of their numbers.
INSERT INTO tenuto.task_logs AS known (tenant, {task_log_columns})
SELECT
    instance.tenant, instance.id, :step::text, :iteration::text, :attempt::bigint,
    :first::bigint, :size::bigint, :lines::bytea,
    CASE
        WHEN others.earliest > :at::bigint THEN others.earliest
        WHEN others.latest < :at::bigint THEN others.latest
        ELSE :at::bigint
    END
FROM tenuto.workflow_instances AS instance
CROSS JOIN (
    SELECT
        coalesce(sum(size) FILTER (WHERE attempt = :attempt AND first <> :first), 0) AS size,
        max(at) FILTER (WHERE (attempt, first) < (:attempt, :first)) AS earliest,
        min(at) FILTER (WHERE (attempt, first) > (:attempt, :first)) AS latest
    FROM tenuto.task_logs
    WHERE instance_id = :instance_id AND step = :step AND iteration = :iteration
) AS others
WHERE instance.id = :instance_id AND :most::bigint >= :size + others.size
FOR KEY SHARE OF instance
ON CONFLICT (instance_id, step, iteration, attempt, first) DO UPDATE SET
    size = excluded.size,
    lines = excluded.lines
WHERE excluded.size > known.size
RETURNING tenant;

-- name: trim_task_logs
-- Drop the oldest lines of an instance that has more than its bytes.
DELETE FROM tenuto.task_logs
WHERE instance_id = :instance_id AND (step, iteration, attempt, first) IN (
    SELECT newest.step, newest.iteration, newest.attempt, newest.first
    FROM (
        SELECT
            step, iteration, attempt, first,
            sum(size + :row_bytes::bigint) OVER (
                ORDER BY at DESC, step DESC, iteration DESC, attempt DESC, first DESC
            ) AS total
        FROM tenuto.task_logs
        WHERE instance_id = :instance_id
    ) AS newest
    WHERE newest.total > :most::bigint
)
RETURNING 1;

-- name: task_logs
-- Those of an instance, in the order in which they were written.
SELECT {task_log_columns}
FROM tenuto.task_logs
WHERE instance_id = :instance_id AND tenant = :tenant
    AND (at, step, iteration, attempt, first) >= (
        :from_at::bigint, :from_step::text, :from_iteration::text,
        :from_attempt::bigint, :from_first::bigint
    )
    AND (:step::text IS NULL OR step = :step)
    AND (:iteration::text IS NULL OR iteration = :iteration)
    AND (:attempt::bigint IS NULL OR attempt = :attempt)
ORDER BY instance_id, at, step, iteration, attempt, first LIMIT :limit;

-------------------------------------------------------------------------------------------- workers

-- name: put_worker
-- Record that a worker claims tasks; whether it is new, or was not connected before.
INSERT INTO tenuto.workers AS known (
    tenant, worker_id, task_ids, left_out, first_seen, last_seen
)
VALUES (:tenant, :worker_id, :task_ids, :left_out, :now - :age, :now - :age)
ON CONFLICT (tenant, worker_id) DO UPDATE SET
    task_ids = excluded.task_ids,
    left_out = excluded.left_out,
    first_seen = CASE
        WHEN excluded.last_seen - known.last_seen > :connected_for THEN excluded.last_seen
        ELSE known.first_seen
    END,
    last_seen = excluded.last_seen
WHERE excluded.last_seen > known.last_seen
RETURNING first_seen = last_seen;

-- name: touch_worker
-- Record that a known worker has sent a heartbeat.
UPDATE tenuto.workers SET
    first_seen = CASE
        WHEN :now - :age - last_seen > :connected_for THEN :now - :age ELSE first_seen
    END,
    last_seen = :now - :age
WHERE tenant = :tenant AND worker_id = :worker_id AND last_seen < :now - :age;

-- name: drop_oldest_workers
-- Delete the workers of a tenant that were seen longest ago, beyond so many.
DELETE FROM tenuto.workers WHERE (tenant, worker_id) IN (
    SELECT tenant, worker_id FROM tenuto.workers
    WHERE tenant = :tenant
    ORDER BY tenant DESC, last_seen DESC, worker_id DESC LIMIT :limit OFFSET :most
);

-- name: workers_seen
-- The workers of a tenant that were seen lately.
SELECT
    tenant, worker_id, task_ids, left_out, first_seen, last_seen,
    last_seen >= :now - :connected_for
FROM tenuto.workers
WHERE tenant = :tenant AND worker_id > :after AND last_seen >= :now - :within
ORDER BY tenant, worker_id LIMIT :limit;

-- name: forget_workers
-- Delete workers that were seen long ago.
DELETE FROM tenuto.workers WHERE (tenant, worker_id) IN (
    SELECT tenant, worker_id FROM tenuto.workers
    WHERE last_seen < :now - :kept_for ORDER BY last_seen LIMIT :limit
)
RETURNING 1;

------------------------------------------------------------------------------------------ calendars

-- name: retire_calendar
-- The version before this one is not the newest any more.
UPDATE tenuto.calendars SET is_newest = 0
WHERE tenant = :tenant AND id = :id AND version = :version - 1 AND is_newest = 1;

-- name: insert_calendar
-- Keep a version, if it is the one after the newest.
INSERT INTO tenuto.calendars ({calendar_columns}, is_newest)
SELECT
    :tenant::text, :id::text, :version::bigint, :document::bytea, :created_at::bigint,
    :created_by::text, :is_removed::bigint, 1
WHERE
    :version - 1 = coalesce(
        (
            SELECT newest.version FROM tenuto.calendars AS newest
            WHERE newest.tenant = :tenant AND newest.id = :id
            ORDER BY newest.version DESC LIMIT 1
        ),
        0
    )
ON CONFLICT (tenant, id, version) DO NOTHING RETURNING 1;

-- name: newest_calendar
-- The newest version of a calendar.
SELECT {calendar_columns} FROM tenuto.calendars WHERE tenant = :tenant AND id = :id
ORDER BY tenant DESC, id DESC, version DESC LIMIT 1;

-- name: calendar_version
-- A version of a calendar.
SELECT {calendar_columns} FROM tenuto.calendars
WHERE tenant = :tenant AND id = :id AND version = :version;

-- name: calendar_versions
-- Versions of a calendar, newest first.
SELECT {calendar_columns} FROM tenuto.calendars
WHERE tenant = :tenant AND id = :id AND version < :below
ORDER BY tenant DESC, id DESC, version DESC LIMIT :limit;

-- name: calendars
-- The newest versions of a tenant's calendars.
SELECT {calendar_columns} FROM tenuto.calendars
WHERE tenant = :tenant AND id > :after AND is_newest = 1 AND is_removed = 0
ORDER BY tenant, id LIMIT :limit;

-- name: all_calendars
-- The newest versions of all calendars.
SELECT {calendar_columns} FROM tenuto.calendars
WHERE (tenant, id) > (:tenant, :id) AND is_newest = 1 AND is_removed = 0
ORDER BY tenant, id LIMIT :limit;

-- name: calendar_heads
-- The numbers of the newest versions of a tenant's calendars, with those that are removed.
SELECT id, version FROM tenuto.calendars
WHERE tenant = :tenant AND id > :after AND is_newest = 1
ORDER BY tenant, id LIMIT :limit;

-- name: calendars_marks
-- The mark of the calendars of each tenant that has or had any.
SELECT tenant, count(*), CAST(sum(version) AS bigint) FROM tenuto.calendars
WHERE is_newest = 1 GROUP BY tenant;

-- name: calendars_mark_of
-- The mark of the calendars of a tenant.
SELECT count(*), coalesce(CAST(sum(version) AS bigint), 0) FROM tenuto.calendars
WHERE tenant = :tenant AND is_newest = 1;

-- name: calendars_mark
-- How many calendars there are or were, and the sum of their versions.
SELECT count(*), coalesce(CAST(sum(version) AS bigint), 0) FROM tenuto.calendars
WHERE is_newest = 1;

------------------------------------------------------------------------------------------ schedules

-- name: insert_schedule
-- Keep a new one; nothing where there is one.
INSERT INTO tenuto.schedules ({schedule_columns}, held_until)
VALUES (
    :tenant, :id, :content, :revision, :version, :status, :next_at, :next_tick, :handled,
    :workflow_id, :calendar_id, :note, :problem, :tries, :last_executed, :last_nominal,
    :last_instance_id, :created_at, :created_by, :changed_at, :changed_by, 0
)
ON CONFLICT (tenant, id) DO NOTHING RETURNING 1;

-- name: update_schedule
-- Change one from one version to the next; not another one that was made anew under its id.
UPDATE tenuto.schedules SET
    content = :content, revision = :revision, version = :version, status = :status,
    next_at = :next_at, next_tick = :next_tick, handled = :handled, workflow_id = :workflow_id,
    calendar_id = :calendar_id, note = :note, problem = :problem, tries = :tries,
    last_executed = :last_executed, last_nominal = :last_nominal,
    last_instance_id = :last_instance_id, created_by = :created_by, changed_at = :changed_at,
    changed_by = :changed_by, held_until = 0
WHERE tenant = :tenant AND id = :id AND version = :version - 1 AND created_at = :created_at
RETURNING 1;

-- name: schedule
-- One schedule.
SELECT {schedule_columns} FROM tenuto.schedules WHERE tenant = :tenant AND id = :id;

-- name: schedules
-- The schedules of a tenant.
SELECT {schedule_columns} FROM tenuto.schedules
WHERE tenant = :tenant AND id > :after AND (:status::text IS NULL OR status = :status)
ORDER BY tenant, id LIMIT :limit;

-- name: schedule_ids
-- The ids of the schedules of a tenant.
SELECT id FROM tenuto.schedules WHERE tenant = :tenant ORDER BY tenant, id LIMIT :limit;

-- name: schedules_of_workflow
-- The schedules that start a workflow.
SELECT {schedule_columns} FROM tenuto.schedules
WHERE
    tenant = :tenant AND workflow_id = :workflow_id AND id > :after
    AND (:status::text IS NULL OR status = :status)
    AND (:calendar_id::text IS NULL OR calendar_id = :calendar_id)
ORDER BY tenant, workflow_id, id LIMIT :limit;

-- name: schedule_ids_of_workflow
-- The ids of the schedules that start a workflow.
SELECT id FROM tenuto.schedules
WHERE
    tenant = :tenant AND workflow_id = :workflow_id AND id > :after
    AND (:status::text IS NULL OR status = :status)
ORDER BY tenant, workflow_id, id LIMIT :limit;

-- name: schedules_of_calendar
-- The schedules that name a calendar.
SELECT {schedule_columns} FROM tenuto.schedules
WHERE
    tenant = :tenant AND calendar_id = :calendar_id AND id > :after
    AND (:status::text IS NULL OR status = :status)
ORDER BY tenant, calendar_id, id LIMIT :limit;

-- name: remove_schedule
-- Delete a schedule.
DELETE FROM tenuto.schedules WHERE tenant = :tenant AND id = :id RETURNING 1;

-- name: remove_ticks
-- Delete the ticks of a schedule.
DELETE FROM tenuto.schedule_ticks WHERE tenant = :tenant AND schedule_id = :id;

-- name: count_schedules
-- How many schedules a tenant has, up to so many.
SELECT count(*) FROM (
    SELECT 1 FROM tenuto.schedules WHERE tenant = :tenant LIMIT :most
) AS stored;

-- name: bytes_of_schedules
-- The bytes of the documents of a tenant's schedules.
SELECT coalesce(CAST(sum(length(content)) AS bigint), 0) FROM tenuto.schedules
WHERE tenant = :tenant;

-- name: next_due_schedule
-- When one has something to do next.
SELECT next_at FROM tenuto.schedules WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1;

-- name: schedule_numbers
-- How many have something to do, and how many of them now, up to so many.
SELECT
    (
        SELECT count(*) FROM (
            SELECT 1 FROM tenuto.schedules WHERE next_at IS NOT NULL LIMIT :most
        ) AS active
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM tenuto.schedules WHERE next_at <= :now LIMIT :most
        ) AS due
    );

-- name: ticks
-- The ticks of a schedule, newest first.
SELECT {tick_columns} FROM tenuto.schedule_ticks
WHERE
    tenant = :tenant AND schedule_id = :schedule_id
    AND (nominal, is_range) < (:below_nominal::bigint, :below_range::bigint)
ORDER BY tenant DESC, schedule_id DESC, nominal DESC, is_range DESC LIMIT :limit;

-- name: tick
-- The tick of a nominal time.
SELECT {tick_columns} FROM tenuto.schedule_ticks
WHERE tenant = :tenant AND schedule_id = :schedule_id AND nominal = :nominal AND is_range = 0;

-- name: refuse_tick
-- An instance that was to be started was refused.
UPDATE tenuto.schedule_ticks SET outcome = 'refused', reason = :reason, is_open = 0
WHERE
    tenant = :tenant AND schedule_id = :schedule_id AND nominal = :nominal AND is_range = 0
    AND outcome = 'started' AND is_confirmed = 0
RETURNING 1;

-- name: trim_ticks
-- Delete the oldest ticks of a schedule: closed ones beyond so many, and all beyond so many.
DELETE FROM tenuto.schedule_ticks
WHERE
    tenant = :tenant AND schedule_id = :schedule_id
    AND (nominal, is_range) IN (
        SELECT old.nominal, old.is_range FROM (
            SELECT
                nominal, is_range, is_open,
                row_number() OVER (ORDER BY nominal DESC, is_range DESC) AS place
            FROM tenuto.schedule_ticks
            WHERE tenant = :tenant AND schedule_id = :schedule_id
        ) AS old
        WHERE old.place > :most OR (old.place > :most_closed AND old.is_open = 0)
    )
RETURNING 1;

------------------------------------------------------------------------------------------ data sources

-- name: insert_data_source
-- Keep a new one; nothing where there is one.
INSERT INTO tenuto.data_sources ({data_source_columns})
VALUES (
    :tenant, :id, :version, :document, :created_at, :created_by, :changed_at, :changed_by
)
ON CONFLICT (tenant, id) DO NOTHING RETURNING 1;

-- name: update_data_source
-- Change one from one version to the next; not another one that was made anew under its id.
UPDATE tenuto.data_sources SET
    version = :version, document = :document, created_by = :created_by, changed_at = :changed_at,
    changed_by = :changed_by
WHERE tenant = :tenant AND id = :id AND version = :version - 1 AND created_at = :created_at
RETURNING 1;

-- name: data_source
-- One data source.
SELECT {data_source_columns} FROM tenuto.data_sources WHERE tenant = :tenant AND id = :id;

-- name: data_sources
-- The data sources of a tenant.
SELECT {data_source_columns} FROM tenuto.data_sources
WHERE tenant = :tenant AND id > :after
ORDER BY tenant, id LIMIT :limit;

-- name: count_data_sources
-- How many data sources a tenant has, up to so many.
SELECT count(*) FROM (
    SELECT 1 FROM tenuto.data_sources WHERE tenant = :tenant LIMIT :most
) AS stored;

-- name: keep_data_source
-- Keep a data source from being removed until the end of the transaction.
SELECT 1 FROM tenuto.data_sources WHERE tenant = :tenant AND id = :id FOR KEY SHARE;

-- name: lock_data_source
-- Wait for those who keep a data source.
SELECT 1 FROM tenuto.data_sources WHERE tenant = :tenant AND id = :id FOR UPDATE;

-- name: remove_data_source
-- Delete a data source that no query names.
DELETE FROM tenuto.data_sources
WHERE
    tenant = :tenant AND id = :id
    AND NOT EXISTS (
        SELECT 1 FROM tenuto.data_queries AS query
        WHERE query.tenant = :tenant AND query.data_source_id = :id
    )
RETURNING 1;

------------------------------------------------------------------------------------------ data queries

-- name: insert_data_query
-- Keep a new one; nothing where there is one.
INSERT INTO tenuto.data_queries ({data_query_columns})
VALUES (
    :tenant, :id, :version, :data_source_id, :document, :created_at, :created_by, :changed_at,
    :changed_by
)
ON CONFLICT (tenant, id) DO NOTHING RETURNING 1;

-- name: update_data_query
-- Change one from one version to the next; not another one that was made anew under its id.
UPDATE tenuto.data_queries SET
    version = :version, data_source_id = :data_source_id, document = :document,
    created_by = :created_by, changed_at = :changed_at, changed_by = :changed_by
WHERE tenant = :tenant AND id = :id AND version = :version - 1 AND created_at = :created_at
RETURNING 1;

-- name: data_query
-- One data query.
SELECT {data_query_columns} FROM tenuto.data_queries WHERE tenant = :tenant AND id = :id;

-- name: data_queries
-- The data queries of a tenant.
SELECT {data_query_columns} FROM tenuto.data_queries
WHERE tenant = :tenant AND id > :after
ORDER BY tenant, id LIMIT :limit;

-- name: data_queries_of_source
-- The data queries of a data source.
SELECT {data_query_columns} FROM tenuto.data_queries
WHERE tenant = :tenant AND data_source_id = :data_source_id AND id > :after
ORDER BY tenant, data_source_id, id LIMIT :limit;

-- name: data_query_ids
-- The ids of the data queries of a tenant.
SELECT id FROM tenuto.data_queries WHERE tenant = :tenant ORDER BY tenant, id LIMIT :limit;

-- name: count_data_queries
-- How many data queries a tenant has, up to so many.
SELECT count(*) FROM (
    SELECT 1 FROM tenuto.data_queries WHERE tenant = :tenant LIMIT :most
) AS stored;

-- name: bytes_of_data_queries
-- The bytes of the documents of a tenant's data queries.
SELECT coalesce(CAST(sum(length(document)) AS bigint), 0) FROM tenuto.data_queries
WHERE tenant = :tenant;

-- name: remove_data_query
-- Delete a data query.
DELETE FROM tenuto.data_queries WHERE tenant = :tenant AND id = :id RETURNING 1;

--------------------------------------------------------------------------------- secrets of tenants

-- name: put_tenant_secret
-- Keep a secret, or replace it.
INSERT INTO tenuto.tenant_secrets ({tenant_secret_columns})
VALUES (:tenant, :name, :sealed, :destinations, :changed_at, :changed_by)
ON CONFLICT (tenant, name) DO UPDATE SET
    sealed = excluded.sealed, destinations = excluded.destinations,
    changed_at = excluded.changed_at, changed_by = excluded.changed_by;

-- name: tenant_secret
-- One secret.
SELECT {tenant_secret_columns} FROM tenuto.tenant_secrets
WHERE tenant = :tenant AND name = :name;

-- name: tenant_secrets
-- The secrets of a tenant.
SELECT {tenant_secret_columns} FROM tenuto.tenant_secrets
WHERE tenant = :tenant AND name > :after
ORDER BY tenant, name LIMIT :limit;

-- name: count_tenant_secrets
-- How many secrets a tenant has, up to so many.
SELECT count(*) FROM (
    SELECT 1 FROM tenuto.tenant_secrets WHERE tenant = :tenant LIMIT :most
) AS stored;

-- name: remove_tenant_secret
-- Delete a secret.
DELETE FROM tenuto.tenant_secrets WHERE tenant = :tenant AND name = :name RETURNING 1;

----------------------------------------------------------------------------------------- encryption

-- name: put_encryption_mark
-- Keep a mark, unless it is there.
INSERT INTO tenuto.encryption_marks (tenant, kind, name) VALUES (:tenant, :kind, :name)
ON CONFLICT (tenant, kind, name) DO NOTHING RETURNING 1;

-- name: encryption_marks
-- The marks of a kind.
SELECT name FROM tenuto.encryption_marks
WHERE tenant = :tenant AND kind = :kind ORDER BY tenant, kind, name;

-- name: remove_encryption_mark
-- Remove a mark.
DELETE FROM tenuto.encryption_marks WHERE tenant = :tenant AND kind = :kind AND name = :name;

-- name: look_back_sealed
-- Let the waits look back whose values begin with these bytes; triggers have no look-back.
UPDATE tenuto.workflow_event_subscriptions SET looked_back = 0
WHERE
    instance_id > '' AND looked_back = 1 AND node <> ''
    AND substr(captures, 1, :length) = :beginning;

-- name: sealed_entries
-- A page of rows that may have an encrypted value.
SELECT
    instance_id, seq, '', instance_id,
    CASE WHEN substr(payload, 1, 4) = :mark THEN payload END
FROM tenuto.workflow_execution_history
WHERE (instance_id, seq) > (:after_instance_id, :after_seq) ORDER BY instance_id, seq LIMIT :limit;

-- name: put_sealed_entries
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.workflow_execution_history SET payload = :new
WHERE instance_id = :instance_id AND seq = :seq AND payload = :old RETURNING 1;

-- name: sealed_snapshots
-- A page of rows that may have an encrypted value.
SELECT
    instance_id, '', instance_id,
    CASE WHEN substr(state, 1, 4) = :mark THEN state END
FROM tenuto.workflow_snapshots
WHERE instance_id > :after_instance_id ORDER BY instance_id LIMIT :limit;

-- name: put_sealed_snapshots
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.workflow_snapshots SET state = :new
WHERE instance_id = :instance_id AND state = :old RETURNING 1;

-- name: sealed_outputs
-- A page of rows that may have an encrypted value.
SELECT
    id, '', id,
    CASE WHEN substr(output, 1, 4) = :mark THEN output END
FROM tenuto.workflow_instances
WHERE id > :after_id ORDER BY id LIMIT :limit;

-- name: put_sealed_outputs
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.workflow_instances SET output = :new
WHERE id = :id AND output = :old RETURNING 1;

-- name: sealed_last_errors
-- A page of rows that may have an encrypted value.
SELECT
    id, '', id,
    CASE WHEN substr(last_error, 1, 4) = :mark THEN last_error END
FROM tenuto.workflow_instances
WHERE id > :after_id ORDER BY id LIMIT :limit;

-- name: put_sealed_last_errors
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.workflow_instances SET last_error = :new
WHERE id = :id AND last_error = :old RETURNING 1;

-- name: sealed_cancellations
-- A page of rows that may have an encrypted value.
SELECT
    id, '', id,
    CASE WHEN substr(cancellation, 1, 4) = :mark THEN cancellation END
FROM tenuto.workflow_instances
WHERE id > :after_id ORDER BY id LIMIT :limit;

-- name: put_sealed_cancellations
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.workflow_instances SET cancellation = :new
WHERE id = :id AND cancellation = :old RETURNING 1;

-- name: sealed_mail
-- A page of rows that may have an encrypted value.
SELECT
    number, '', instance_id,
    CASE WHEN substr(input, 1, 4) = :mark THEN input END
FROM tenuto.mailbox
WHERE number > :after_number ORDER BY number LIMIT :limit;

-- name: put_sealed_mail
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.mailbox SET input = :new
WHERE number = :number AND input = :old RETURNING 1;

-- name: sealed_letter_inputs
-- A page of rows that may have an encrypted value.
SELECT
    instance_id, id, '', instance_id,
    CASE WHEN substr(input, 1, 4) = :mark THEN input END
FROM tenuto.dead_letters
WHERE (instance_id, id) > (:after_instance_id, :after_id) ORDER BY instance_id, id LIMIT :limit;

-- name: put_sealed_letter_inputs
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.dead_letters SET input = :new
WHERE instance_id = :instance_id AND id = :id AND input = :old RETURNING 1;

-- name: sealed_letter_errors
-- A page of rows that may have an encrypted value.
SELECT
    instance_id, id, '', instance_id,
    error
FROM tenuto.dead_letters
WHERE (instance_id, id) > (:after_instance_id, :after_id) ORDER BY instance_id, id LIMIT :limit;

-- name: put_sealed_letter_errors
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.dead_letters SET error = :new
WHERE instance_id = :instance_id AND id = :id AND error = :old RETURNING 1;

-- name: sealed_letter_outputs
-- A page of rows that may have an encrypted value.
SELECT
    instance_id, id, '', instance_id,
    CASE WHEN substr(output, 1, 4) = :mark THEN output END
FROM tenuto.dead_letters
WHERE (instance_id, id) > (:after_instance_id, :after_id) ORDER BY instance_id, id LIMIT :limit;

-- name: put_sealed_letter_outputs
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.dead_letters SET output = :new
WHERE instance_id = :instance_id AND id = :id AND output = :old RETURNING 1;

-- name: sealed_waits
-- A page of rows that may have an encrypted value.
SELECT
    instance_id, node, iteration, arm, tenant, instance_id,
    CASE WHEN substr(captures, 1, 4) = :mark THEN captures END
FROM tenuto.workflow_event_subscriptions
WHERE (instance_id, node, iteration, arm) > (:after_instance_id, :after_node, :after_iteration, :after_arm)
ORDER BY instance_id, node, iteration, arm LIMIT :limit;

-- name: put_sealed_waits
-- Replace an encrypted value with its index terms, if it is still the old one.
UPDATE tenuto.workflow_event_subscriptions
SET captures = :new, term_paths = :term_paths, term_values = :term_values
WHERE
    instance_id = :instance_id AND node = :node AND iteration = :iteration AND arm = :arm
    AND captures = :old
RETURNING 1;

-- name: sealed_events
-- A page of rows that may have an encrypted value.
SELECT
    number, tenant, id,
    CASE WHEN substr(payload, 1, 12) = :mark THEN payload END
FROM tenuto.events
WHERE number > :after_number ORDER BY number LIMIT :limit;

-- name: put_sealed_events
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.events SET payload = :new
WHERE number = :number AND payload = :old RETURNING 1;

-- name: sealed_postings
-- A page of rows that may have an encrypted value.
SELECT
    number, '', event_id,
    CASE WHEN substr(body, 1, 4) = :mark THEN body END
FROM tenuto.webhook_deliveries
WHERE number > :after_number ORDER BY number LIMIT :limit;

-- name: put_sealed_postings
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.webhook_deliveries SET body = :new
WHERE number = :number AND body = :old RETURNING 1;

-- name: sealed_reasons
-- A page of rows that may have an encrypted value.
SELECT
    instance_id, node, iteration, arm, event_id, '', instance_id,
    CASE WHEN substr(reason, 1, 8) = :mark THEN reason END
FROM tenuto.event_deliveries
WHERE
    (instance_id, node, iteration, arm, event_id)
    > (:after_instance_id, :after_node, :after_iteration, :after_arm, :after_event_id)
ORDER BY instance_id, node, iteration, arm, event_id LIMIT :limit;

-- name: put_sealed_reasons
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.event_deliveries SET reason = :new
WHERE
    instance_id = :instance_id AND node = :node AND iteration = :iteration
    AND arm = :arm AND event_id = :event_id AND reason = :old
RETURNING 1;

-- name: sealed_lines
-- A page of rows that may have an encrypted value.
SELECT
    instance_id, step, iteration, attempt, first, '', instance_id,
    CASE WHEN substr(lines, 1, 4) = :mark THEN lines END
FROM tenuto.task_logs
WHERE
    (instance_id, step, iteration, attempt, first)
    > (:after_instance_id, :after_step, :after_iteration, :after_attempt, :after_first)
ORDER BY instance_id, step, iteration, attempt, first LIMIT :limit;

-- name: put_sealed_lines
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.task_logs SET lines = :new
WHERE
    instance_id = :instance_id AND step = :step AND iteration = :iteration
    AND attempt = :attempt AND first = :first AND lines = :old
RETURNING 1;

-- name: sealed_secrets
-- A page of rows that may have an encrypted value.
SELECT
    tenant, name, tenant, name,
    CASE WHEN substr(sealed, 1, 4) = :mark THEN sealed END
FROM tenuto.tenant_secrets
WHERE (tenant, name) > (:after_tenant, :after_name) ORDER BY tenant, name LIMIT :limit;

-- name: put_sealed_secrets
-- Replace an encrypted value, if it is still the old one.
UPDATE tenuto.tenant_secrets SET sealed = :new
WHERE tenant = :tenant AND name = :name AND sealed = :old RETURNING 1;
---------------------------------------------------------------------------------------------- slots

-- name: lock_concurrency
-- Let one process at a time grant slots and set limits.
SELECT document, ranked_to, changes FROM tenuto.concurrency WHERE tenant = '' FOR UPDATE;

-- name: concurrency_state
-- The limits of the service, up to where rows have the order that is set, and the number of the newest change.
SELECT document, ranked_to, changes FROM tenuto.concurrency WHERE tenant = '';

-- name: freed_slots
-- What was given back since the pass before, oldest first.
SELECT number, keys, amount FROM tenuto.slots_freed ORDER BY number LIMIT :limit;

-- name: free_again
-- Limits whose waiting rows the next pass looks at.
INSERT INTO tenuto.slots_freed (tenant, keys, amount) VALUES ('', :keys, 0) RETURNING 1;

-- name: concurrency_documents
-- All limits, for a pass.
SELECT tenant, document FROM tenuto.concurrency ORDER BY tenant;

-- name: concurrency_rows
-- All limits.
SELECT {concurrency_columns} FROM tenuto.concurrency ORDER BY tenant;

-- name: concurrency_versions
-- The versions of all limits.
SELECT tenant, version FROM tenuto.concurrency;

-- name: put_concurrency
-- Set limits.
INSERT INTO tenuto.concurrency ({concurrency_columns})
VALUES (:tenant, :document, :version, :changed_at, :changed_by)
ON CONFLICT (tenant) DO UPDATE SET
    document = excluded.document, version = excluded.version, changed_at = excluded.changed_at,
    changed_by = excluded.changed_by
RETURNING 1;

-- name: count_change
-- Number a change of limits; where their order has changed, waiting rows are to be ranked again.
UPDATE tenuto.concurrency SET
    changes = changes + 1, ranked_to = CASE WHEN :is_ordered = 1 THEN ranked_to ELSE '' END
WHERE tenant = '' RETURNING 1;

-- name: keys_parked_on
-- The limits that rows are parked on.
WITH RECURSIVE parked (blocked_on) AS (
    SELECT min(slot.blocked_on) FROM tenuto.slots AS slot
    WHERE slot.state = 'waiting' AND slot.blocked_on > ''
    UNION ALL
    SELECT (
        SELECT min(slot.blocked_on) FROM tenuto.slots AS slot
        WHERE slot.state = 'waiting' AND slot.blocked_on > parked.blocked_on
    )
    FROM parked WHERE parked.blocked_on IS NOT NULL
)

SELECT blocked_on FROM parked WHERE blocked_on IS NOT NULL;

-- name: slots_are_waited_for
-- Whether any row waits.
SELECT CASE WHEN EXISTS (SELECT 1 FROM tenuto.slots WHERE state = 'waiting') THEN 1 ELSE 0 END;

-- name: put_load_report
-- What a process asks the limit of all instances to be.
INSERT INTO tenuto.load_reports ({load_report_columns})
VALUES (
    :tenant, :process_id, :asked, :loop_lag_ms, :commit_ms, :memory_percent, :reason, :at_ms
)
ON CONFLICT (process_id) DO UPDATE SET
    asked = excluded.asked, loop_lag_ms = excluded.loop_lag_ms, commit_ms = excluded.commit_ms,
    memory_percent = excluded.memory_percent, reason = excluded.reason, at_ms = excluded.at_ms
RETURNING 1;

-- name: drop_load_reports
-- Forget processes that reported nothing for long.
DELETE FROM tenuto.load_reports WHERE at_ms < :since RETURNING 1;

-- name: drop_load_report
-- Forget one process.
DELETE FROM tenuto.load_reports WHERE process_id = :process_id RETURNING 1;

-- name: lowest_load_report
-- The lowest limit that any process asks for.
SELECT min(asked) FROM tenuto.load_reports WHERE at_ms >= :since;

-- name: load_reports
-- What processes ask for, the lowest first.
SELECT {load_report_columns} FROM tenuto.load_reports
WHERE at_ms >= :since
ORDER BY asked, process_id;

-- name: slots_mark
-- The number of the newest change of limits, and whether a row waits that no pass has looked at.
SELECT
    changes,
    (
        CASE
            WHEN ranked_to IS NOT NULL THEN 1
            WHEN EXISTS (SELECT 1 FROM tenuto.slots WHERE state = 'waiting' AND blocked_on = '')
                THEN 1
            WHEN EXISTS (SELECT 1 FROM tenuto.slots_freed) THEN 1
            WHEN EXISTS (SELECT 1 FROM tenuto.slots WHERE state = 'settling' AND blocked_on = '')
                THEN 1
            ELSE 0
        END
    ),
    (SELECT min(next_at) FROM tenuto.paces WHERE next_at IS NOT NULL)
FROM tenuto.concurrency WHERE tenant = '';

-- name: all_queue_rules
-- The rules of all queues.
SELECT {queue_rule_columns} FROM tenuto.queue_rules ORDER BY tenant, id;

-- name: queue_rules
-- The rules of a tenant's queue.
SELECT {queue_rule_columns} FROM tenuto.queue_rules WHERE tenant = :tenant ORDER BY tenant, id;

-- name: put_queue_rule
-- Save a rule; one that is there stays, and is applied again. The number of this change of limits
-- says from when on decisions know it.
INSERT INTO tenuto.queue_rules ({queue_rule_columns}, unapplied)
VALUES (
    :tenant, :id, :expression, :priority::bigint, :is_hold, :note::text, :created_at,
    :created_by::text,
    (SELECT changes + 1 FROM tenuto.concurrency WHERE tenant = '')
)
ON CONFLICT (tenant, id) DO UPDATE SET note = excluded.note, unapplied = excluded.unapplied
RETURNING 1;

-- name: unapplied_rules
-- The rules that may not be applied to all that wait, and the change of limits that saved each.
SELECT {queue_rule_columns}, unapplied FROM tenuto.queue_rules
WHERE unapplied IS NOT NULL ORDER BY tenant, id;

-- name: rule_applied
-- A rule is applied to all that wait, unless it was saved again meanwhile.
UPDATE tenuto.queue_rules SET unapplied = NULL
WHERE tenant = :tenant AND id = :id AND unapplied = :unapplied RETURNING 1;

-- name: know_limits
-- A process decides by the limits and rules of a change, or of a newer one.
UPDATE tenuto.processes SET limits_known = :changes
WHERE id = :process_id AND limits_known < :changes RETURNING 1;

-- name: processes_behind
-- The processes that may still decide by older limits and rules.
SELECT id FROM tenuto.processes WHERE stopped_at IS NULL AND limits_known < :changes ORDER BY id;

-- name: slots_to_judge
-- Instances of a tenant that wait, by id: their order changes while they are read. They are read in
-- the order of the primary key: an index of the tenant would have to be read whole, and sorted, for
-- each page.
SELECT instance_id FROM tenuto.slots
WHERE
    instance_id > :after AND node = '' AND tenant || '' = :tenant AND state <> 'held'
    AND state <> 'ended'
ORDER BY instance_id LIMIT :limit;

-- name: remove_queue_rule
-- Remove a rule.
DELETE FROM tenuto.queue_rules WHERE tenant = :tenant AND id = :id RETURNING 1;

-- name: paces_mark
-- Whether there are new debounced requests, and the next moment of a pace.
SELECT
    (
        CASE
            WHEN EXISTS (SELECT 1 FROM tenuto.slots WHERE state = 'settling' AND blocked_on = '')
                THEN 1
            ELSE 0
        END
    ),
    (SELECT min(next_at) FROM tenuto.paces WHERE next_at IS NOT NULL);

-- name: next_pace
-- The next moment of a pace.
SELECT min(next_at) FROM tenuto.paces WHERE next_at IS NOT NULL;

-- name: slots_settling
-- New debounced requests, oldest first.
SELECT instance_id, asked_at, pace FROM tenuto.slots
WHERE state = 'settling' AND blocked_on = '' ORDER BY blocked_on, asked_at, instance_id LIMIT :limit;

-- name: paces_due
-- The keys of one kind whose moment has come, the first ones.
SELECT pace_key FROM tenuto.paces
WHERE next_at IS NOT NULL AND next_at <= :now AND pace_key > :first AND pace_key < :last
ORDER BY next_at LIMIT :limit;

-- name: forget_paces
-- Delete what is known of keys, and means nothing any more.
DELETE FROM tenuto.paces WHERE pace_key IN (
    SELECT pace_key FROM tenuto.paces
    WHERE kept_until < :now AND next_at IS NULL ORDER BY kept_until LIMIT :limit
) RETURNING 1;

-- name: slots_in_line
-- The rows of a tenant that are parked on a limit, in their order.
SELECT {slot_columns} FROM tenuto.slots
WHERE
    state = 'waiting' AND blocked_on = :key AND tenant = :tenant
    AND (rank_class, rank, instance_id, node, iteration)
    > (:rank_class::bigint, :rank::bigint, :instance_id, :node, :iteration)
ORDER BY blocked_on, tenant, rank_class, rank, instance_id, node, iteration LIMIT :limit;

-- name: children_in_line
-- What is above the first children that are parked on a limit.
SELECT above FROM (
    SELECT above FROM tenuto.slots
    WHERE state = 'waiting' AND blocked_on = :key AND tenant = :tenant
    ORDER BY blocked_on, tenant, rank_class, rank, instance_id, node, iteration LIMIT :limit
) AS line WHERE above IS NOT NULL;

-- name: oldest_of_key
-- The instances that have held slots of a key for longest.
SELECT instance_id FROM tenuto.slots
WHERE own_key = :own_key AND state = 'held' ORDER BY own_key, state, asked_at LIMIT :limit;

-- name: others_of_key
-- The other instances that wait with a key, and have not begun.
SELECT instance_id, asked_at FROM tenuto.slots
WHERE
    own_key = :own_key AND state = :state AND instance_id <> :instance_id AND rank_class > 0
ORDER BY own_key, state, asked_at LIMIT :limit;

-- name: slots_of
-- The slots of an instance.
SELECT {slot_columns} FROM tenuto.slots
WHERE tenant = :tenant AND instance_id = :instance_id ORDER BY instance_id, node, iteration;

-- name: slots_waiting_of
-- The rows of a tenant that wait, in their order.
SELECT {slot_columns} FROM tenuto.slots
WHERE
    state <> 'held' AND state <> 'ended' AND tenant = :tenant
    AND (rank_class, rank, instance_id, node, iteration)
    > (:rank_class::bigint, :rank::bigint, :instance_id, :node, :iteration)
ORDER BY tenant, rank_class, rank, instance_id, node, iteration LIMIT :limit;

-- name: instances_waiting_of
-- The instances of a tenant that wait, in their order; steps that wait for a mutex are left out.
SELECT {slot_columns} FROM tenuto.slots
WHERE
    state <> 'held' AND state <> 'ended' AND tenant = :tenant AND node = ''
    AND (rank_class, rank, instance_id) > (:rank_class::bigint, :rank::bigint, :instance_id)
    AND (:definition_id = '' OR definition_id = :definition_id)
ORDER BY tenant, rank_class, rank, instance_id LIMIT :limit;

-- name: numbers_in_queue
-- Instances of a workflow that wait, each with its number among all instances of its tenant behind a place.
SELECT instance_id, number FROM (
    SELECT
        instance_id, definition_id,
        row_number() OVER (ORDER BY tenant, rank_class, rank, instance_id) AS number
    FROM (
        SELECT tenant, rank_class, rank, instance_id, definition_id FROM tenuto.slots
        WHERE
            state <> 'held' AND state <> 'ended' AND tenant = :tenant AND node = ''
            AND (rank_class, rank, instance_id) > (:rank_class::bigint, :rank::bigint, :instance_id)
        ORDER BY tenant, rank_class, rank, instance_id LIMIT :most
    ) AS behind
) AS numbered
WHERE definition_id = :definition_id LIMIT :limit;

-- name: place_in_queue
-- How many instances of a tenant wait before one, up to so many.
SELECT count(*) FROM (
    SELECT 1 FROM tenuto.slots
    WHERE
        state <> 'held' AND state <> 'ended' AND tenant = :tenant AND node = ''
        AND (rank_class, rank, instance_id) < (:rank_class::bigint, :rank::bigint, :instance_id)
    LIMIT :most
) AS before;

-- name: place_in_line
-- How many rows wait before one in its line, and in all of the line.
SELECT
    (
        SELECT count(*) FROM (
            SELECT 1 FROM tenuto.slots
            WHERE
                state = 'waiting' AND blocked_on = :key AND tenant = :tenant
                AND (rank_class, rank, instance_id, node, iteration)
                < (:rank_class::bigint, :rank::bigint, :instance_id, :node, :iteration)
            LIMIT :most
        ) AS before
    ),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM tenuto.slots
            WHERE state = 'waiting' AND blocked_on = :key AND tenant = :tenant LIMIT :most
        ) AS line
    );

-- name: slots_held
-- The slots that are held for a tenant, the oldest first.
SELECT {slot_columns} FROM tenuto.slots
WHERE state = 'held' AND tenant = :tenant ORDER BY tenant, held_at LIMIT :limit;

-- name: holders_of_key
-- The slots that are held with a key, or of a mutex, in the order in which they were asked for.
SELECT {slot_columns} FROM tenuto.slots
WHERE own_key = :own_key AND state = 'held' AND tenant = :tenant
ORDER BY own_key, state, asked_at LIMIT :limit;

-- name: slots_of_key
-- How many rows there are of a key, up to so many.
SELECT count(*) FROM (
    SELECT 1 FROM tenuto.slots WHERE own_key = :own_key AND state <> 'ended' LIMIT :most
) AS found;

-- name: counts_below
-- How many slots are taken of limits whose keys lie between two.
SELECT limit_key, taken FROM tenuto.slot_counts
WHERE limit_key >= :first AND limit_key < :last ORDER BY limit_key LIMIT :limit;

-- name: tenants_that_wait
-- The tenants with rows that wait.
WITH RECURSIVE line (tenant) AS (
    SELECT min(slot.tenant) FROM tenuto.slots AS slot WHERE slot.state <> 'held'
    UNION ALL
    SELECT (
        SELECT min(slot.tenant) FROM tenuto.slots AS slot
        WHERE slot.state <> 'held' AND slot.tenant > line.tenant
    )
    FROM line WHERE line.tenant IS NOT NULL
)

SELECT tenant FROM line WHERE tenant IS NOT NULL;

-- name: slots_depth
-- How many instances wait.
SELECT count(*) FROM (
    SELECT 1 FROM tenuto.slots
    WHERE state <> 'held' AND state <> 'ended' AND node = '' LIMIT :most
) AS waiting;

-- name: slots_depth_of
-- How many instances of a tenant wait.
SELECT count(*) FROM (
    SELECT 1 FROM tenuto.slots
    WHERE tenant = :tenant AND state <> 'held' AND state <> 'ended' AND node = '' LIMIT :most
) AS waiting;

-- name: slots_depths
-- How many rows wait or are debounced, by the kind of the limit: the kinds are ranges of keys.
WITH kinds (kind, first, beyond) AS (
    VALUES
    ('new', '', '!'),
    ('global', 'global', 'global!'),
    ('tenant', 'tenant:', 'tenant;'),
    ('type', 'type:', 'type;'),
    ('user', 'user:', 'user;'),
    ('key', 'key:', 'key;'),
    ('mutex', 'mutex:', 'mutex;'),
    ('debounce', 'debounce:', 'debounce;'),
    ('rate', 'rate:', 'rate;')
)

SELECT
    kinds.kind,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM tenuto.slots AS slot
            WHERE
                slot.state = 'waiting' AND slot.blocked_on >= kinds.first
                AND slot.blocked_on < kinds.beyond
            LIMIT :most
        ) AS waiting
    ) + (
        SELECT count(*) FROM (
            SELECT 1 FROM tenuto.slots AS slot
            WHERE
                slot.state = 'settling' AND slot.blocked_on >= kinds.first
                AND slot.blocked_on < kinds.beyond
            LIMIT :most
        ) AS settling
    )
FROM kinds;

-- name: promote_slot
-- Let a waiting instance go first.
UPDATE tenuto.slots SET rank_class = 1, rank = :rank
WHERE
    tenant = :tenant AND instance_id = :instance_id AND node = ''
    AND state IN ('waiting', 'settling', 'on-hold') AND rank_class > 0
RETURNING 1;

-- name: hold_back_slot
-- Keep a waiting instance from being admitted.
UPDATE tenuto.slots SET state = 'on-hold', blocked_on = ''
WHERE
    tenant = :tenant AND instance_id = :instance_id AND node = ''
    AND state IN ('waiting', 'settling', 'on-hold')
RETURNING 1;

-- name: let_slot_go
-- Let an instance wait again.
UPDATE tenuto.slots SET state = 'waiting', blocked_on = ''
WHERE tenant = :tenant AND instance_id = :instance_id AND node = '' AND state = 'on-hold'
RETURNING 1;

-- name: slots_to_rank
-- Instances that wait or are kept back, by id.
SELECT instance_id FROM tenuto.slots
WHERE instance_id > :after AND node = '' AND state <> 'held' ORDER BY instance_id LIMIT :limit;

-- name: put_ranked_to
-- Up to which instance waiting rows are in the present order; NULL: all are.
UPDATE tenuto.concurrency SET ranked_to = :id::text WHERE tenant = '' RETURNING 1;
