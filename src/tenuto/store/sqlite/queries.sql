-- The statements of the store, by name, each with its purpose. SQL that several statements share is a
-- fragment, named in braces. Fragments of columns are in `../columns.sql`.
--
-- A statement crosses into SQLite and back once per row it returns, and each crossing gives Python's
-- lock away: beside a busy thread, fetching a thousand rows one by one takes seconds. Hence two
-- rules. Lists are returned *packed*, as one JSON array of arrays, bytes in hexadecimal. Many rows are
-- written with one statement: the tuple marked "for each row" is repeated as often as there are rows, or
-- with "or null" more often, the rest being rows of nulls that the statement passes over.

-- name: begin_write
-- Start a transaction that writes; waits for a process that is sending mailbox messages.
BEGIN IMMEDIATE;

-- name: begin_read
-- Start a transaction in which all reads see the same moment.
BEGIN DEFERRED;

-- name: commit
-- Make a transaction durable.
COMMIT;

-- name: rollback
-- Undo a transaction.
ROLLBACK;

------------------------------------------------------------------------------------------------ gate

-- name: insert_entries
-- The gate: insert entries into the log where there are none. The first of an instance in a turn, the
-- one with the turn's id, is inserted only if the entry before it is there.
INSERT INTO workflow_execution_history (instance_id, {entry_columns}, turn_id)
SELECT * FROM (
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row, or null */
) AS entry
WHERE
    entry.column1 IS NOT NULL
    AND (
        entry.column12 IS NULL
        OR entry.column2 = 1
        OR EXISTS (
            SELECT 1 FROM workflow_execution_history AS previous
            WHERE previous.instance_id = entry.column1 AND previous.seq = entry.column2 - 1
        )
    )
ON CONFLICT (instance_id, seq) DO NOTHING;

-- name: first_rows_of_turn
-- Which of these (instance, seq) carry this turn's id: its winners. Packed.
SELECT json_group_array(history.instance_id)
FROM json_each(:first_rows) AS wanted
CROSS JOIN workflow_execution_history AS history
    ON history.instance_id = wanted.value ->> 0 AND history.seq = wanted.value ->> 1
WHERE history.turn_id = :turn_id;

-- name: instances_with_entries_at
-- Which of these (instance, seq) exist: a decision without them is out of date. Packed.
SELECT json_group_array(history.instance_id)
FROM json_each(?) AS wanted
CROSS JOIN workflow_execution_history AS history
    ON history.instance_id = wanted.value ->> 0 AND history.seq = wanted.value ->> 1;

-- name: delete_first_rows
-- Delete the entry of a start that won the gate but not its idempotency key.
DELETE FROM workflow_execution_history
WHERE (instance_id, seq) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?));

-- name: used_keys
-- The owners of these idempotency keys: instance and content hash of each. Packed.
SELECT
    json_group_array(
        json_array(used.tenant, used.key, used.instance_id, hex(used.content_hash))
    )
FROM json_each(?) AS wanted
CROSS JOIN idempotency_keys AS used
    ON used.tenant = wanted.value ->> 0 AND used.key = wanted.value ->> 1;

-- name: insert_keys
-- Insert the idempotency keys of new instances.
INSERT INTO idempotency_keys (tenant, key, instance_id, content_hash)
VALUES (?, ?, ?, ?) /* for each row */;

------------------------------------------------------------------------------------------- instances

-- name: insert_instances
-- The rows of new instances.
INSERT INTO workflow_instances ({instance_columns}, follows)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row */;

-- name: move_instances
-- Update the columns that lists show, where the status stays as it is: what is assigned, also its
-- old value, is written to every index that has it.
UPDATE workflow_instances
SET
    updated_at = changed.column2,
    started_at = changed.column3,
    current_steps = changed.column4,
    output = changed.column5,
    last_error = changed.column6,
    cancellation = changed.column7
FROM (VALUES (?, ?, ?, ?, ?, ?, ?) /* for each row */) AS changed
WHERE workflow_instances.id = changed.column1;

-- name: update_instances
-- Update the columns that lists show, after a change of status or when an instance comes to rest.
UPDATE workflow_instances
SET
    status = changed.column2,
    updated_at = changed.column3,
    started_at = changed.column4,
    completed_at = changed.column5,
    current_steps = changed.column6,
    output = changed.column7,
    last_error = changed.column8,
    cancellation = changed.column9
FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row */) AS changed
WHERE workflow_instances.id = changed.column1;

-- name: delete_searchable
-- Delete the values by which these instances are found.
DELETE FROM workflow_searchable_values WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: insert_searchable
-- Insert the values by which instances are found.
INSERT INTO workflow_searchable_values ({searchable_columns})
VALUES (?, ?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (instance_id, name) DO UPDATE SET value_text = excluded.value_text;

-- name: put_snapshots
-- Insert folds; an older one never replaces a newer one.
INSERT INTO workflow_snapshots (instance_id, version, state)
VALUES (?, ?, ?) /* for each row */
ON CONFLICT (instance_id) DO UPDATE SET version = excluded.version, state = excluded.state
WHERE excluded.version >= version;

-- name: instances_by_id
-- The rows of these instances. Packed.
SELECT
    json_group_array(
        json_array(
            i.id, i.tenant, i.definition_id, i.definition_version, i.status, i.correlation_id,
            i.priority, i.deadline, i.created_at, i.updated_at, i.started_at, i.completed_at,
            i.current_steps, i.parent_id, i.root_id, i.rerun_of, i.origin_id,
            iif(i.output IS NULL, NULL, hex(i.output)),
            iif(i.last_error IS NULL, NULL, hex(i.last_error)),
            iif(i.cancellation IS NULL, NULL, hex(i.cancellation))
        )
    )
FROM json_each(?) AS wanted CROSS JOIN workflow_instances AS i ON i.id = wanted.value;

-- name: owners_of
-- The owners of these instances. Packed.
SELECT json_group_array(json_array(owners.instance_id, owners.process_id))
FROM json_each(?) AS wanted CROSS JOIN owners ON owners.instance_id = wanted.value;

-- name: owner_rows
-- The owners of these instances, and how often they were taken over. Packed.
SELECT json_group_array(json_array(instance_id, process_id, epoch))
FROM json_each(?) AS wanted CROSS JOIN owners ON owners.instance_id = wanted.value;

-- name: snapshots
-- The folds of these instances. Not packed: they may be large, and few have one.
SELECT snapshot.instance_id, snapshot.version, snapshot.state
FROM json_each(?) AS wanted
CROSS JOIN workflow_snapshots AS snapshot ON snapshot.instance_id = wanted.value;

-- fragment: packed_entries
-- Entries of logs, packed; 0 stands for a payload that is large, and is read by itself.
json_group_array(
    json_array(
        instance_id, seq, event_type, node_id, iteration, attempt, node_status,
        output_variable,
        CASE WHEN payload IS NULL THEN NULL WHEN length(payload) > 20000 THEN 0 ELSE hex(payload) END,
        error_message, at_ms
    )
)

-- name: tails
-- The entries of these instances, each with the seq from which on they are wanted, after their
-- folds; in no order. Packed.
SELECT {packed_entries}
FROM (
    SELECT history.*
    FROM json_each(?) AS wanted
    LEFT JOIN workflow_snapshots AS snapshot ON snapshot.instance_id = wanted.value ->> 0
    CROSS JOIN workflow_execution_history AS history
        ON
            history.instance_id = wanted.value ->> 0
            AND history.seq > max(ifnull(snapshot.version, 0), (wanted.value ->> 1) - 1)
);

-- name: entries
-- A page of the log of one instance. Packed.
SELECT {packed_entries}
FROM (
    SELECT * FROM workflow_execution_history
    WHERE instance_id = :instance_id AND seq > :after
    ORDER BY seq LIMIT :limit
);

-- name: entries_at
-- Single entries of one instance. Packed.
SELECT {packed_entries}
FROM (
    SELECT * FROM workflow_execution_history
    WHERE instance_id = :instance_id AND seq IN (SELECT value FROM json_each(:seqs))
    ORDER BY seq
);

-- name: payloads
-- The payloads of single entries of logs.
SELECT history.instance_id, history.seq, history.payload
FROM json_each(?) AS wanted
CROSS JOIN workflow_execution_history AS history
    ON history.instance_id = wanted.value ->> 0 AND history.seq = wanted.value ->> 1;

-- name: ended_instances
-- Which of these instances have ended. Packed.
SELECT json_group_array(json_array(instance.id, instance.completed_at IS NOT NULL))
FROM workflow_instances AS instance
WHERE instance.id IN (SELECT wanted.value FROM json_each(?) AS wanted);

-- name: keys_of_instances
-- The idempotency keys of these instances. Packed.
SELECT json_group_array(json_array(used.instance_id, used.key))
FROM idempotency_keys AS used
WHERE
    used.instance_id IN (SELECT wanted.value FROM json_each(:ids) AS wanted)
    AND used.tenant = :tenant;

-- name: newest_seqs
-- How long the logs of these instances are. Packed.
SELECT
    json_group_array(
        json_array(
            wanted.value,
            (
                SELECT max(history.seq) FROM workflow_execution_history AS history
                WHERE history.instance_id = wanted.value
            )
        )
    )
FROM json_each(?) AS wanted;

------------------------------------------------------------------------------------------------ lists
-- Positions (created_at, id), newest first, read from indexes alone where the filter allows it. Which
-- statement is used depends on the narrowest filter; the others are tested on the rows that it finds.

-- name: positions_by_status
-- All instances of a status. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT created_at, id FROM workflow_instances
    WHERE
        tenant = :tenant AND status = :status
        AND (created_at, id) < (:below_created, :below_id) AND created_at >= :from_created
    ORDER BY created_at DESC, id DESC LIMIT :limit
);

-- name: positions_by_definition
-- Instances of a definition and a status. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT created_at, id FROM workflow_instances
    WHERE
        tenant = :tenant AND definition_id = :definition_id AND status = :status
        AND (created_at, id) < (:below_created, :below_id) AND created_at >= :from_created
    ORDER BY created_at DESC, id DESC LIMIT :limit
);

-- name: positions_by_correlation
-- Instances of a correlation id. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT i.created_at, i.id FROM workflow_instances AS i
    WHERE
        i.tenant = :tenant AND i.correlation_id = :correlation_id
        AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
        AND (:definition_id IS NULL OR i.definition_id = :definition_id)
        AND (:statuses IS NULL OR i.status IN (SELECT value FROM json_each(:statuses)))
        AND {family_and_wait_fit}
    ORDER BY i.created_at DESC, i.id DESC LIMIT :limit
);

-- fragment: family_and_wait_fit
-- Whether instance `i` is a root, a child of the parent, and has an open wait for the pattern.
(:roots = 0 OR i.parent_id IS NULL)
    AND (:parent_id IS NULL OR i.parent_id = :parent_id)
    AND (
        :waiting_for IS NULL
        OR EXISTS (
            SELECT 1 FROM workflow_event_subscriptions AS wait
            WHERE wait.instance_id = i.id AND wait.node > '' AND wait.pattern = :waiting_for
        )
    )

-- fragment: instance_fits
-- Whether instance `i` has the correlation id, the definition, one of the statuses, and the rest.
(:correlation_id IS NULL OR i.correlation_id = :correlation_id)
    AND (:definition_id IS NULL OR i.definition_id = :definition_id)
    AND (:statuses IS NULL OR i.status IN (SELECT value FROM json_each(:statuses)))
    AND {family_and_wait_fit}

-- name: positions_by_root_status
-- Instances of a status that are no children; `+` keeps the index of parents out. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT created_at, id FROM workflow_instances
    WHERE
        tenant = :tenant AND status = :status AND +parent_id IS NULL
        AND (created_at, id) < (:below_created, :below_id) AND created_at >= :from_created
    ORDER BY created_at DESC, id DESC LIMIT :limit
);

-- name: positions_by_root_definition
-- Instances of a definition and a status that are no children; `+` as above. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT created_at, id FROM workflow_instances
    WHERE
        tenant = :tenant AND definition_id = :definition_id AND status = :status
        AND +parent_id IS NULL
        AND (created_at, id) < (:below_created, :below_id) AND created_at >= :from_created
    ORDER BY created_at DESC, id DESC LIMIT :limit
);

-- name: positions_by_root
-- All instances that are no children. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT created_at, id FROM workflow_instances
    WHERE
        tenant = :tenant AND parent_id IS NULL
        AND (created_at, id) < (:below_created, :below_id) AND created_at >= :from_created
    ORDER BY created_at DESC, id DESC LIMIT :limit
);

-- name: positions_by_parent
-- The children of an instance. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT i.created_at, i.id FROM workflow_instances AS i
    WHERE
        i.tenant = :tenant AND i.parent_id = :parent_id AND :roots = 0
        AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
        AND (:definition_id IS NULL OR i.definition_id = :definition_id)
        AND (:statuses IS NULL OR i.status IN (SELECT value FROM json_each(:statuses)))
    ORDER BY i.created_at DESC, i.id DESC LIMIT :limit
);

-- name: positions_by_wait
-- Instances with an open wait for a pattern. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT DISTINCT i.created_at, i.id
    FROM workflow_event_subscriptions AS wait
    CROSS JOIN workflow_instances AS i ON i.id = wait.instance_id
    WHERE
        wait.tenant = :tenant AND wait.pattern = :waiting_for AND wait.node > ''
        AND i.tenant = :tenant
        AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
        AND (:definition_id IS NULL OR i.definition_id = :definition_id)
        AND (:statuses IS NULL OR i.status IN (SELECT value FROM json_each(:statuses)))
        AND (:roots = 0 OR i.parent_id IS NULL)
        AND (:parent_id IS NULL OR i.parent_id = :parent_id)
    ORDER BY i.created_at DESC, i.id DESC LIMIT :limit
);

-- name: positions_by_change
-- Instances that changed within a time, in the order of change. Packed.
SELECT json_group_array(json_array(updated_at, id))
FROM (
    SELECT i.updated_at, i.id FROM workflow_instances AS i
    WHERE
        i.tenant = :tenant
        AND (i.updated_at, i.id) < (:below_created, :below_id) AND i.updated_at >= :from_updated
        AND i.created_at >= :from_created AND i.created_at < :before_created
        AND {instance_fits}
        AND {step_and_terms_fit}
    ORDER BY i.updated_at DESC, i.id DESC LIMIT :limit
);

-- name: positions_by_step
-- Instances that are at a step. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT i.created_at, i.id
    FROM workflow_current_steps AS step
    CROSS JOIN workflow_instances AS i ON i.id = step.instance_id
    WHERE
        step.tenant = :tenant AND step.step_id = :step_id
        AND (step.created_at, step.instance_id) < (:below_created, :below_id)
        AND step.created_at >= :from_created
        AND {instance_fits}
    ORDER BY step.created_at DESC, step.instance_id DESC LIMIT :limit
);

-- name: rarest_term
-- Which of some terms the fewest instances have, by its place among them; counted up to a bound.
SELECT term.key FROM json_each(:terms) AS term
ORDER BY
    (
        SELECT count(*)
        FROM (
            SELECT 1 FROM workflow_searchable_values AS found
            WHERE
                found.tenant = :tenant AND found.definition_id = :definition_id
                AND found.name = term.value ->> 0 AND found.value_text = term.value ->> 1
            LIMIT 1000
        )
    )
LIMIT 1;

-- fragment: step_and_terms_fit
-- Whether instance `i` is at the step and has all the values.
(
    :step_id IS NULL
    OR EXISTS (
        SELECT 1 FROM workflow_current_steps AS step
        WHERE step.instance_id = i.id AND step.step_id = :step_id
    )
)
AND NOT EXISTS (
    SELECT 1 FROM json_each(:terms) AS term
    WHERE NOT EXISTS (
        SELECT 1 FROM workflow_searchable_values AS other
        WHERE
            other.instance_id = i.id AND other.name = term.value ->> 0
            AND other.value_text = term.value ->> 1
    )
)

-- name: positions_by_value
-- Instances of a definition that have a value, and all the others that are asked for. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT i.created_at, i.id
    FROM workflow_searchable_values AS lead
    CROSS JOIN workflow_instances AS i ON i.id = lead.instance_id
    WHERE
        lead.tenant = :tenant AND lead.definition_id = :definition_id
        AND lead.name = :name AND lead.value_text = :value_text
        AND (lead.created_at, lead.instance_id) < (:below_created, :below_id)
        AND lead.created_at >= :from_created
        AND (:correlation_id IS NULL OR i.correlation_id = :correlation_id)
        AND (:statuses IS NULL OR i.status IN (SELECT value FROM json_each(:statuses)))
        AND {family_and_wait_fit}
        AND {step_and_terms_fit}
    ORDER BY lead.created_at DESC, lead.instance_id DESC LIMIT :limit
);

-- name: positions_by_id
-- Those of the named instances that fit the other filters. Packed.
SELECT json_group_array(json_array(created_at, id))
FROM (
    SELECT DISTINCT i.created_at, i.id
    FROM json_each(:ids) AS wanted CROSS JOIN workflow_instances AS i ON i.id = wanted.value
    WHERE
        i.tenant = :tenant
        AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
        AND i.updated_at >= :from_updated AND i.updated_at < :before_updated
        AND {instance_fits}
        AND {step_and_terms_fit}
    ORDER BY i.created_at DESC, i.id DESC LIMIT :limit
);

------------------------------------------------------------------------------------------ definitions

-- name: insert_definition
-- Insert a new version.
INSERT INTO workflow_definitions (tenant, id, version, content, content_hash, created_at)
VALUES (?, ?, ?, ?, ?, ?);

-- name: removed_definitions
-- Those of these (tenant, id, version) that are not there, or were removed with their definition. Packed.
SELECT json_group_array(json(wanted.value))
FROM json_each(:definitions) AS wanted
WHERE
    NOT EXISTS (
        SELECT 1 FROM workflow_definitions AS there
        WHERE
            there.tenant = wanted.value ->> 0 AND there.id = wanted.value ->> 1
            AND there.version = wanted.value ->> 2
    )
    OR EXISTS (
        SELECT 1 FROM workflow_definitions AS later
        WHERE
            later.tenant = wanted.value ->> 0 AND later.id = wanted.value ->> 1
            AND later.version >= wanted.value ->> 2 AND later.content = :removed
    );

-- name: delete_triggers
-- Delete the triggers of a definition: those of a newer version replace them.
DELETE FROM workflow_event_subscriptions WHERE instance_id = '' AND node = ? AND iteration = ?;

-- name: definition
-- One version.
SELECT tenant, id, version, content, content_hash, created_at FROM workflow_definitions
WHERE tenant = ? AND id = ? AND version = ?;

-- name: newest_definition
-- The newest version.
SELECT tenant, id, version, content, content_hash, created_at FROM workflow_definitions
WHERE tenant = ? AND id = ? ORDER BY version DESC LIMIT 1;

-- name: tenants
-- The tenants that have a definition, an event or a listener, each found by one step through an index.
-- Packed.
WITH RECURSIVE
defining (tenant) AS (
    SELECT min(tenant) FROM workflow_definitions
    UNION ALL
    SELECT (SELECT min(next.tenant) FROM workflow_definitions AS next WHERE next.tenant > defining.tenant)
    FROM defining WHERE defining.tenant IS NOT NULL
),

publishing (tenant) AS (
    SELECT min(tenant) FROM events
    UNION ALL
    SELECT (SELECT min(next.tenant) FROM events AS next WHERE next.tenant > publishing.tenant)
    FROM publishing WHERE publishing.tenant IS NOT NULL
),

hearing (tenant) AS (
    SELECT min(tenant) FROM listeners
    UNION ALL
    SELECT (SELECT min(next.tenant) FROM listeners AS next WHERE next.tenant > hearing.tenant)
    FROM hearing WHERE hearing.tenant IS NOT NULL
)

SELECT json_group_array(tenant)
FROM (
    SELECT tenant FROM defining WHERE tenant IS NOT NULL
    UNION
    SELECT tenant FROM publishing WHERE tenant IS NOT NULL
    UNION
    SELECT tenant FROM hearing WHERE tenant IS NOT NULL
    ORDER BY 1
);

-- name: definition_ids
-- Every definition of a tenant once, but removed ones; no document is read. Packed.
WITH RECURSIVE walk (id) AS (
    SELECT min(id) FROM workflow_definitions WHERE tenant = :tenant
    UNION ALL
    SELECT (
        SELECT min(next.id) FROM workflow_definitions AS next
        WHERE next.tenant = :tenant AND next.id > walk.id
    )
    FROM walk WHERE walk.id IS NOT NULL
)

SELECT json_group_array(walk.id) FROM walk
WHERE (
    -- The length is in the header of the row: a long document has pages of its own.
    SELECT length(own.content) > 4 OR own.content <> CAST('null' AS BLOB)
    FROM workflow_definitions AS own
    WHERE own.tenant = :tenant AND own.id = walk.id ORDER BY own.version DESC LIMIT 1
);

-- name: newest_definitions
-- A page of the definitions of a tenant, each with its newest version, without those of test runs.
WITH RECURSIVE walk (id, rest) AS (
    SELECT min(id), :limit FROM workflow_definitions
    WHERE tenant = :tenant AND id > :after AND (id < '~test:' OR id >= '~tesu')
    UNION ALL
    SELECT
        (
            SELECT min(next.id) FROM workflow_definitions AS next
            WHERE
                next.tenant = :tenant AND next.id > walk.id
                AND (next.id < '~test:' OR next.id >= '~tesu')
        ),
        walk.rest - 1
    FROM walk WHERE walk.id IS NOT NULL AND walk.rest > 1
)

SELECT
    newest.tenant, newest.id, newest.version, newest.content, newest.content_hash,
    newest.created_at
FROM walk
CROSS JOIN workflow_definitions AS newest
WHERE
    newest.tenant = :tenant AND newest.id = walk.id
    AND newest.version = (
        SELECT max(own.version) FROM workflow_definitions AS own
        WHERE own.tenant = :tenant AND own.id = walk.id
    );

------------------------------------------------------------------------------------------------ waits

-- name: put_waits
-- Open waits.
INSERT INTO workflow_event_subscriptions ({wait_columns})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (instance_id, node, iteration, arm) DO UPDATE SET
    {wait_replacement},
    tenant = excluded.tenant,
    correlation_id = excluded.correlation_id,
    looked_back = excluded.looked_back;

-- name: delete_waits
-- Close waits, with all their arms.
DELETE FROM workflow_event_subscriptions
WHERE (instance_id, node, iteration) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)
);

-- name: mark_looked_back
-- These waits, as they were opened then, have seen the events that came before them.
UPDATE workflow_event_subscriptions SET looked_back = 1
WHERE (instance_id, node, iteration, attempt) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?)
);

-- name: wait_terms
-- Distinct terms of a pattern and of all wildcards, by stepping from one to the next in the index:
-- ten thousand waits for the same thing are one step. Packed.
WITH RECURSIVE exact (number) AS (
    SELECT (
        SELECT number FROM workflow_event_subscriptions
        WHERE tenant = :tenant AND pattern = :pattern
        ORDER BY term_paths LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT next.number FROM workflow_event_subscriptions AS next
        WHERE
            next.tenant = :tenant AND next.pattern = :pattern
            AND next.term_paths > this.term_paths
        ORDER BY next.term_paths LIMIT 1
    )
    FROM exact CROSS JOIN workflow_event_subscriptions AS this ON this.number = exact.number
),

wild (number) AS (
    SELECT (
        SELECT number FROM workflow_event_subscriptions
        WHERE is_wildcard = 1 AND tenant = :tenant
        ORDER BY pattern, term_paths LIMIT 1
    )
    UNION ALL
    SELECT ifnull(
        (
            SELECT next.number FROM workflow_event_subscriptions AS next
            WHERE
                next.is_wildcard = 1 AND next.tenant = :tenant
                AND next.pattern = this.pattern AND next.term_paths > this.term_paths
            ORDER BY next.term_paths LIMIT 1
        ),
        (
            SELECT next.number FROM workflow_event_subscriptions AS next
            WHERE
                next.is_wildcard = 1 AND next.tenant = :tenant
                AND next.pattern > this.pattern
            ORDER BY next.pattern, next.term_paths LIMIT 1
        )
    )
    FROM wild CROSS JOIN workflow_event_subscriptions AS this ON this.number = wild.number
)

SELECT json_group_array(json_array(pattern, term_paths))
FROM (
    SELECT wait.pattern, wait.term_paths
    FROM exact CROSS JOIN workflow_event_subscriptions AS wait ON wait.number = exact.number
    UNION
    SELECT wait.pattern, wait.term_paths
    FROM wild CROSS JOIN workflow_event_subscriptions AS wait ON wait.number = wild.number
    ORDER BY 1, 2
);

-- fragment: packed_waits
-- Waits, packed.
json_group_array(
                json_array(
                    instance_id, node, iteration, attempt, tenant, pattern, is_wildcard,
                    condition, hex(captures), term_paths, term_values, since, opened_at,
                    correlation_id, looked_back, follows, arm, position
                )
            )

-- name: waits_of_terms
-- Open waits under each of some terms, in key order: a list for each term. Packed.
SELECT
    json_group_array(
        json((
            SELECT {packed_waits}
            FROM (
                SELECT * FROM workflow_event_subscriptions
                WHERE
                    tenant = :tenant AND pattern = wanted.value ->> 0
                    AND term_paths = wanted.value ->> 1 AND term_values = wanted.value ->> 2
                    AND (instance_id, node, iteration, arm)
                    > (:after_instance, :after_node, :after_iteration, :after_arm)
                ORDER BY instance_id, node, iteration, arm LIMIT :limit
            )
        ))
    )
FROM json_each(:terms) AS wanted;

-- name: waits_near_term
-- Some open waits under one term, of any values, in the order of the index. Packed.
SELECT {packed_waits}
FROM (
    SELECT * FROM workflow_event_subscriptions
    WHERE tenant = :tenant AND pattern = :pattern AND term_paths = :term_paths
    ORDER BY term_values, instance_id, node, iteration, arm LIMIT :limit
);

-- name: waits_of_instance
-- The open waits of one instance. Packed.
SELECT {packed_waits}
FROM (
    SELECT * FROM workflow_event_subscriptions
    WHERE instance_id = ? ORDER BY instance_id, node, iteration, arm
);

-- name: unlooked_waits
-- Open waits that have not looked back. Packed.
SELECT {packed_waits}
FROM (
    SELECT * FROM workflow_event_subscriptions
    WHERE looked_back = 0 ORDER BY instance_id, node, iteration, arm LIMIT ?
);

----------------------------------------------------------------------------------------------- events

-- name: insert_events
-- Insert events that are new.
INSERT INTO events ({event_columns}, turn_id, mark_space)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (tenant, id) DO NOTHING;

-- name: newest_event
-- The number of the event that was stored last.
SELECT coalesce(max(number), 0) FROM events;

-- name: known_events
-- Content hash, number and matching of these events, where they are stored. Packed.
SELECT
    json_group_array(
        json_array(
            e.id, hex(e.content_hash), e.turn_id, e.number, e.matched_at IS NOT NULL, e.resumed,
            e.cancelled, e.started
        )
    )
FROM json_each(?) AS wanted
CROSS JOIN events AS e ON e.tenant = wanted.value ->> 0 AND e.id = wanted.value ->> 1;

-- name: mark_matched
-- Record that the matching of these events is done, once for each. The mark of a large one takes as
-- many bytes as are taken off: a row of the same length is overwritten where it differs.
UPDATE events
SET
    matched_at = done.column3,
    resumed = done.column4,
    cancelled = done.column5,
    started = done.column6,
    mark_space = substr(events.mark_space, 1 + done.column7)
FROM (VALUES (?, ?, ?, ?, ?, ?, ?) /* for each row */) AS done
WHERE events.tenant = done.column1 AND events.id = done.column2 AND events.matched_at IS NULL;

-- name: put_deliveries
-- Outcomes of events at waits; only "matched" is replaced. A wait that a retry opened anew may take an
-- event that it had missed.
INSERT INTO event_deliveries (instance_id, node, iteration, arm, event_id, outcome, reason, tenant)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (instance_id, node, iteration, arm, event_id)
DO UPDATE SET outcome = excluded.outcome, reason = excluded.reason
WHERE
    outcome = 'matched'
    OR (outcome = 'discarded' AND excluded.outcome IN ('resumed', 'cancelled'));

-- fragment: packed_deliveries
-- Deliveries of events to waits, packed.
json_group_array(
    json_array(event_id, instance_id, node, iteration, outcome, arm, reason, tenant)
)

-- name: deliveries_of_instance
-- The deliveries of events to the waits of one instance. Packed.
SELECT {packed_deliveries}
FROM (
    SELECT * FROM event_deliveries
    WHERE instance_id = ? ORDER BY instance_id, node, iteration, arm, event_id
);

-- name: deliveries_of_event
-- The deliveries of one event. Packed.
SELECT {packed_deliveries}
FROM (
    SELECT * FROM event_deliveries
    WHERE event_id = ? AND tenant = ? ORDER BY instance_id, node, iteration, arm
);

-- fragment: packed_event
-- An event of the inbox, with bytes in hexadecimal.
number, tenant, id, pattern, hex(payload), received_at, timestamp, correlation_id,
    hex(content_hash), chain, origin

-- fragment: packed_events
-- Events of the inbox, packed.
json_group_array(json_array({packed_event}))

-- fragment: packed_inbox_events
-- Events of the inbox with the counts of their matching, packed.
json_group_array(
    json_array({packed_event}, matched_at IS NOT NULL, resumed, cancelled, started)
)

-- fragment: look_back_start
-- Common table expression: the number of the event after which the instance started.
begun AS MATERIALIZED (
    SELECT
        (
            SELECT instance.follows FROM workflow_instances AS instance
            WHERE instance.id = :instance_id AND instance.created_at = :since
        ) AS follows
),

-- fragment: is_after_start
-- Whether an event is behind the start of the look-back: where the instance started, else a moment.
number > max(
        :after,
        coalesce(
            (SELECT follows FROM begun),
            (
                SELECT older.number FROM events AS older
                WHERE older.tenant = :tenant AND older.received_at < :long_before
                ORDER BY older.received_at DESC, older.number DESC LIMIT 1
            ),
            0
        )
    )

-- fragment: look_back_result
-- The last number and the count of the events that were examined, and those that a wait may take.
-- Packed.
SELECT
    json_array(
        (SELECT max(number) FROM looked_at),
        (SELECT count(*) FROM looked_at),
        json(
            (
                SELECT {packed_events}
                FROM (
                    SELECT * FROM looked_at AS event
                    WHERE
                        (event.received_at >= :received_from OR (SELECT follows FROM begun) IS NOT NULL)
                        AND NOT EXISTS (
                            SELECT 1 FROM event_deliveries AS taken
                            WHERE
                                taken.event_id = event.id AND taken.instance_id = :instance_id
                                AND taken.outcome = 'resumed'
                        )
                        AND NOT EXISTS (
                            SELECT 1
                            FROM json_each(:terms) AS term
                            WHERE
                                json_valid(CAST(event.payload AS TEXT))
                                AND CASE
                                    WHEN term.value ->> 2 IS NULL
                                        THEN json_extract(CAST(event.payload AS TEXT), term.value ->> 0)
                                            <> term.value ->> 1
                                    ELSE abs(
                                        json_extract(CAST(event.payload AS TEXT), term.value ->> 0)
                                        - CAST(term.value ->> 2 AS REAL)
                                    ) > abs(CAST(term.value ->> 2 AS REAL)) * 1e-9
                                END
                        )
                    ORDER BY event.number
                )
            )
        )
    )

-- name: past_events_of_pattern
-- A look-back over the events of one pattern, in the order of storing. Packed.
WITH {look_back_start}

looked_at AS MATERIALIZED (
    SELECT number, {event_columns} FROM events
    WHERE
        tenant = :tenant AND pattern = :pattern
        AND {is_after_start}
    ORDER BY number LIMIT :limit
)

{look_back_result};

-- name: past_events
-- A look-back over the events of all patterns, in the order of storing. Packed.
WITH {look_back_start}

looked_at AS MATERIALIZED (
    SELECT number, {event_columns} FROM events
    WHERE
        +tenant = :tenant
        AND {is_after_start}
    ORDER BY number LIMIT :limit
)

{look_back_result};

-- name: latest_events_of_pattern
-- The inbox of one pattern, newest first, with the counts of their matching. Packed.
SELECT {packed_inbox_events}
FROM (
    SELECT * FROM (
        SELECT * FROM events
        WHERE tenant = :tenant AND pattern = :pattern AND number < :below
        ORDER BY number DESC LIMIT :limit
    )
    WHERE received_at >= :since
    ORDER BY received_at DESC, number DESC
);

-- name: latest_events
-- The inbox of all patterns, newest first, with the counts of their matching. Packed.
SELECT {packed_inbox_events}
FROM (
    SELECT * FROM events
    WHERE
        tenant = :tenant AND received_at >= :since
        AND (received_at, number) < (:below_at, :below)
    ORDER BY received_at DESC, number DESC LIMIT :limit
);

-- name: event
-- One event, with the counts of its matching. Packed.
SELECT {packed_inbox_events}
FROM events WHERE tenant = ? AND id = ?;

-- name: first_past
-- The first event of a pattern that a wait may look back at, for each wait that asks. Packed.
SELECT
    json_group_array(
        (
            SELECT events.number FROM events
            WHERE
                events.tenant = asked.value ->> 0 AND events.pattern = asked.value ->> 1
                AND events.number > coalesce(
                    (
                        SELECT instance.follows FROM workflow_instances AS instance
                        WHERE
                            instance.id = asked.value ->> 2
                            AND instance.created_at = asked.value ->> 3
                    ),
                    0
                )
            ORDER BY events.number LIMIT 1
        )
    )
FROM json_each(?) AS asked;

-- name: past_texts
-- The text at a path in the payloads of events of one pattern, in the order of storing. Packed.
SELECT json_group_array(json_array(number, found))
FROM (
    SELECT
        number,
        CASE
            WHEN length(payload) <= :most AND json_valid(CAST(payload AS TEXT))
                THEN CAST(json_extract(CAST(payload AS TEXT), :path) AS TEXT)
        END AS found
    FROM events
    WHERE tenant = :tenant AND pattern = :pattern AND number >= :first
    ORDER BY number LIMIT :limit
);

-- name: unmatched_events
-- Events whose matching was not recorded, in the order of storing. Packed.
SELECT {packed_events}
FROM (SELECT * FROM events WHERE matched_at IS NULL ORDER BY number LIMIT ?);

-------------------------------------------------------------------------- timers, mailbox, dead letters

-- name: put_timers
-- Set timers; one of the same key is replaced.
INSERT INTO timers (instance_id, kind, node, iteration, due)
VALUES (?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (instance_id, kind, node, iteration) DO UPDATE SET due = excluded.due;

-- name: delete_timers
-- Clear timers.
DELETE FROM timers
WHERE (instance_id, kind, node, iteration) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?)
);

-- name: first_timers
-- The timers that are due first. Packed.
SELECT json_group_array(json_array(instance_id, kind, node, iteration, due))
FROM (SELECT * FROM timers ORDER BY due, instance_id, kind, node, iteration LIMIT ?);

-- name: timers_of
-- All timers of these instances, in no order. Packed.
SELECT json_group_array(json_array(instance_id, kind, node, iteration, due))
FROM json_each(?) AS wanted CROSS JOIN timers ON timers.instance_id = wanted.value;

-- name: insert_mail
-- Insert mailbox messages that are not there already.
INSERT INTO mailbox (id, instance_id, input, created_at)
VALUES (?, ?, ?, ?) /* for each row */
ON CONFLICT (id, instance_id) DO NOTHING;

-- name: insert_grants
-- Insert the mailbox messages of a pass: there is one process.
WITH sent (id, instance_id, input, created_at, claimed_by) AS (
    VALUES (?, ?, ?, ?, ?) /* for each row */
)

INSERT INTO mailbox (id, instance_id, input, created_at)
SELECT id, instance_id, input, created_at FROM sent WHERE id IS NOT NULL
ON CONFLICT (id, instance_id) DO NOTHING;

-- name: delete_mail
-- Delete mailbox messages that the log of their instance has taken.
DELETE FROM mailbox
WHERE (id, instance_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?));

-- name: waiting_mail
-- The mailbox messages among these that are there. Packed.
SELECT json_group_array(json_array(id, instance_id)) FROM mailbox
WHERE (id, instance_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?));

-- name: mail
-- Mailbox messages for instances that no other living process owns, oldest first, with the tenants of
-- those that exist. Packed.
SELECT json_group_array(json_array(id, instance_id, hex(input), created_at, tenant))
FROM (
    SELECT
        m.id, m.instance_id, m.input, m.created_at,
        (SELECT i.tenant FROM workflow_instances AS i WHERE i.id = m.instance_id) AS tenant
    FROM mailbox AS m
    WHERE
        m.number > 0
        AND NOT EXISTS (
            SELECT 1 FROM owners CROSS JOIN processes ON processes.id = owners.process_id
            WHERE
                owners.instance_id = m.instance_id AND owners.process_id <> :process_id
                AND processes.stopped_at IS NULL
        )
    ORDER BY m.number LIMIT :limit
);

-- name: put_jobs
-- Offer jobs; one that is there already is unchanged.
INSERT INTO jobs ({job_columns})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (instance_id, node, iteration, attempt) DO NOTHING;

-- fragment: is_given_job
-- Whether a job is one of the given ones.
(instance_id, node, iteration, attempt) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:keys)
)

-- fragment: is_given_lease
-- Whether the lease of a job is one of the given ones.
(instance_id, node, iteration, attempt, token) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
    FROM json_each(:leases)
)

-- name: delete_jobs
-- Withdraw jobs.
DELETE FROM jobs
WHERE {is_given_job};

-- name: drop_dead_letters
-- Delete dead letters of nodes that are retried.
DELETE FROM dead_letters
WHERE
    kind <> 'late-result'
    AND (instance_id, node, iteration) IN (
        SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)
    );

-- name: call_off_jobs
-- Cancel jobs, so that no process begins them.
UPDATE jobs SET is_called_off = 1
WHERE {is_given_job};

-- name: jobs_of
-- The open jobs of these instances, in no order. Packed.
SELECT json_group_array(json_array(instance_id, node, iteration, attempt, token))
FROM json_each(?) AS wanted CROSS JOIN jobs ON jobs.instance_id = wanted.value;

-- name: has_offered_jobs
-- Whether there is an unclaimed job.
SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_offered WHERE leased_by IS NULL);

-- name: first_jobs
-- Unclaimed jobs of a task without limits, those that were offered first. Packed.
SELECT json_group_array(json_array(offered_at, instance_id, node, iteration, attempt, token))
FROM (
    SELECT * FROM jobs
    WHERE leased_by IS NULL AND task_id = :task_id AND NOT is_called_off AND NOT is_limited
    ORDER BY offered_at LIMIT :limit
);

-- name: lease_jobs
-- Grant leases.
UPDATE jobs SET token = token + 1, leased_by = :process_id, leased_until = :until
WHERE {is_given_job};

-- name: lapsed_jobs
-- Leases that have lapsed, and those of processes that are gone, with whether the process stopped
-- cleanly, and for leases of workers the limits that ended them. Packed.
SELECT
    json_group_array(
        json_array(
            is_clean, instance_id, node, iteration, attempt, token,
            json(
                iif(
                    is_outside,
                    json_object(
                        'until', leased_until, 'overdue_at', overdue_at, 'timeout', timeout,
                        'silence', silence, 'lease', lease, 'details', details
                    ),
                    NULL
                )
            )
        )
    )
FROM (
    SELECT
        jobs.*,
        ifnull(processes.stopped_at IS NOT NULL AND processes.is_clean, 0) AS is_clean
    FROM jobs LEFT JOIN processes ON processes.id = jobs.leased_by AND NOT jobs.is_outside
    WHERE
        jobs.leased_by IS NOT NULL
        AND (
            jobs.leased_until <= :now
            OR (
                NOT jobs.is_outside
                AND (processes.id IS NULL OR processes.stopped_at IS NOT NULL)
            )
        )
    ORDER BY jobs.leased_until LIMIT :limit
);

-- name: leases_of
-- The leases of this process. Packed.
SELECT json_group_array(json_array(instance_id, node, iteration, attempt, token))
FROM jobs WHERE leased_by = :process_id AND NOT is_outside AND leased_until > :now;

-- name: extend_leases
-- Extend leases of this process.
UPDATE jobs SET leased_until = max(leased_until, :until)
WHERE
    leased_by = :process_id AND NOT is_outside
    AND {is_given_lease};

-- name: next_offered_task
-- The next task of a tenant that has unclaimed jobs.
SELECT min(task_id) FROM jobs INDEXED BY jobs_of_tenant
WHERE leased_by IS NULL AND tenant = :tenant AND task_id > :after;

-- name: first_jobs_of_tenant
-- Unclaimed jobs of a task of a tenant, those that were offered first. Packed.
SELECT json_group_array(json_array(offered_at, instance_id, node, iteration, attempt, token))
FROM (
    SELECT * FROM jobs INDEXED BY jobs_of_tenant
    WHERE leased_by IS NULL AND tenant = :tenant AND task_id = :task_id AND NOT is_called_off
    ORDER BY offered_at LIMIT :limit
);

-- name: lease_to_worker
-- Grant leases to a worker outside, at most for the time-out of the job and of its heartbeat.
UPDATE jobs SET
    token = token + 1, leased_by = :worker_id, is_outside = 1, lease = :lease,
    overdue_at = :now + timeout, details = NULL,
    leased_until = :now + min(:lease, timeout, ifnull(silence, :lease))
WHERE {is_given_job};

-- name: limit_jobs
-- These jobs count for the limits of their task.
UPDATE jobs SET is_limited = 1
WHERE {is_given_job};

-- name: mark_limited
-- The unclaimed jobs of a task count for its limits.
UPDATE jobs SET is_limited = 1
WHERE leased_by IS NULL AND tenant = :tenant AND task_id = :task_id AND NOT is_limited;

-- name: next_limited_task
-- The next task with limits that has unclaimed jobs.
SELECT tenant, task_id FROM jobs INDEXED BY jobs_limited
WHERE leased_by IS NULL AND is_limited AND (tenant, task_id) > (:tenant, :task_id)
ORDER BY tenant, task_id LIMIT 1;

-- name: held_of_task
-- How many jobs of a task with limits are leased; counting stops at the limit.
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_limited_held
    WHERE leased_by IS NOT NULL AND is_limited AND tenant = :tenant AND task_id = :task_id
    LIMIT :most
);

-- name: holders_of_task
-- Some of the leased jobs of a task with limits. Packed.
SELECT json_group_array(json_array(instance_id, node, iteration, attempt, leased_by, is_outside))
FROM (
    SELECT * FROM jobs INDEXED BY jobs_limited_held
    WHERE leased_by IS NOT NULL AND is_limited AND tenant = :tenant AND task_id = :task_id
    LIMIT :most
);

-- name: task_rate
-- How many attempts of a task its rate let begin, and when.
SELECT tokens, tokens_at FROM task_rates WHERE tenant = :tenant AND task_id = :task_id;

-- name: put_task_rate
-- Note how many are left.
INSERT INTO task_rates (tenant, task_id, tokens, tokens_at)
VALUES (:tenant, :task_id, :tokens, :now)
ON CONFLICT (tenant, task_id) DO UPDATE SET tokens = excluded.tokens, tokens_at = excluded.tokens_at;

-- name: extend_for_workers
-- Extend leases of workers that have not lapsed.
UPDATE jobs SET
    leased_until = max(leased_until, min(:now + min(lease, ifnull(silence, lease)), overdue_at)),
    details = ifnull(beat.value ->> 5, details)
FROM json_each(:beats) AS beat
WHERE
    jobs.instance_id = beat.value ->> 0 AND jobs.node = beat.value ->> 1
    AND jobs.iteration = beat.value ->> 2 AND jobs.attempt = beat.value ->> 3
    AND jobs.token = beat.value ->> 4
    AND jobs.is_outside AND jobs.leased_by IS NOT NULL AND jobs.leased_until > :now;

-- name: set_timeouts
-- Change the time-outs of jobs that workers have, each from its claim.
UPDATE jobs SET
    timeout = given.value ->> 5,
    overdue_at = overdue_at - timeout + (given.value ->> 5),
    leased_until = overdue_at - timeout + min(lease, ifnull(silence, lease), given.value ->> 5)
FROM json_each(:timeouts) AS given
WHERE
    jobs.instance_id = given.value ->> 0 AND jobs.node = given.value ->> 1
    AND jobs.iteration = given.value ->> 2 AND jobs.attempt = given.value ->> 3
    AND jobs.token = given.value ->> 4
    AND jobs.is_outside AND jobs.leased_by IS NOT NULL AND jobs.leased_until > :now;

-- name: workers_leases
-- Leases of workers that have not lapsed: until when, whether their jobs were cancelled, and which
-- worker has each. Packed.
SELECT
    json_group_array(
        json_array(
            jobs.instance_id, node, iteration, attempt, token, leased_until, is_called_off, leased_by
        )
    )
FROM json_each(:keys) AS wanted CROSS JOIN jobs ON
    jobs.instance_id = wanted.value ->> 0 AND jobs.node = wanted.value ->> 1
    AND jobs.iteration = wanted.value ->> 2 AND jobs.attempt = wanted.value ->> 3
WHERE jobs.is_outside AND jobs.leased_by IS NOT NULL AND jobs.leased_until > :now;

-- name: put_back_jobs
-- Undo the leases of these jobs, as if no worker had been granted them.
UPDATE jobs SET leased_by = NULL, leased_until = NULL, is_outside = 0
WHERE is_outside AND {is_given_lease};

-- name: called_off_jobs
-- Those of these jobs that were cancelled and that have no lease. Packed.
SELECT json_group_array(json_array(jobs.instance_id, node, iteration, attempt, token))
FROM json_each(:keys) AS wanted CROSS JOIN jobs ON
    jobs.instance_id = wanted.value ->> 0 AND jobs.node = wanted.value ->> 1
    AND jobs.iteration = wanted.value ->> 2 AND jobs.attempt = wanted.value ->> 3
WHERE jobs.leased_by IS NULL AND jobs.is_called_off;

-- name: next_lapse
-- When the next lease of a worker lapses.
SELECT min(leased_until) FROM jobs INDEXED BY jobs_leased
WHERE leased_by IS NOT NULL AND leased_until > :now AND is_outside;

-- name: insert_dead_letters
-- Insert dead letters.
INSERT INTO dead_letters ({dead_letter_columns})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (instance_id, id) DO NOTHING;

-- fragment: packed_dead_letters
-- Dead letters, packed.
json_group_array(
    json_array(
        instance_id, id, tenant, kind, node, iteration, attempt, task_id,
        iif(input IS NULL, NULL, hex(input)), iif(error IS NULL, NULL, hex(error)),
        iif(output IS NULL, NULL, hex(output)), at
    )
)

-- name: dead_letters
-- Dead letters of a tenant, newest first. Packed.
SELECT {packed_dead_letters}
FROM (
    SELECT * FROM dead_letters AS letter
    WHERE
        tenant = :tenant AND (at, id, instance_id) < (:below_at, :below_id, :below_instance)
        AND (at, id, instance_id) >= (:last_at, :last_id, :last_instance)
        AND (:kind IS NULL OR kind = :kind)
        AND (:task_id IS NULL OR task_id = :task_id)
        AND (:code_start IS NULL OR substr(error, 1, length(:code_start)) = :code_start)
        AND (
            :definition_id IS NULL OR EXISTS (
                SELECT 1 FROM workflow_instances AS instance
                WHERE instance.id = letter.instance_id AND instance.definition_id = :definition_id
            )
        )
    ORDER BY at DESC, id DESC, instance_id DESC LIMIT :limit
);

-- name: place_of_dead_letter
-- The place of the dead letter after so many others, newest first: of the index alone.
SELECT at, id, instance_id FROM dead_letters
WHERE tenant = :tenant AND (at, id, instance_id) < (:below_at, :below_id, :below_instance)
ORDER BY at DESC, id DESC, instance_id DESC LIMIT 1 OFFSET :passed;

-- name: dead_letter
-- One dead letter of a tenant. Packed.
SELECT {packed_dead_letters}
FROM dead_letters WHERE instance_id = ? AND id = ? AND tenant = ?;

-- name: delete_dead_letter
-- Delete a dead letter.
DELETE FROM dead_letters WHERE instance_id = ? AND id = ? AND tenant = ? RETURNING 1;

----------------------------------------------------------------------------------- owners and processes

-- name: insert_process
-- Record a process that has opened the store.
INSERT INTO processes (id, started_at, seen_at) VALUES (?, ?, ?);

-- name: latest_moment
-- The latest moment that a process has recorded, without those of wrong clocks.
SELECT max(seen_at) FROM processes WHERE seen_at <= ?;

-- name: see_moment
-- Record how far the time of a process has come, when moments are stored.
UPDATE processes SET seen_at = :at WHERE id = :id AND seen_at < :at;

-- name: living_processes
-- Those of these processes that have not stopped. Packed.
SELECT json_group_array(processes.id)
FROM json_each(?) AS wanted CROSS JOIN processes ON processes.id = wanted.value
WHERE processes.stopped_at IS NULL;

-- name: known_process
-- Whether a process id was used before.
SELECT 1 FROM processes WHERE id = ?;

-- name: stop_process
-- Record that a process has stopped.
UPDATE processes SET stopped_at = :now, is_clean = :is_clean, seen_at = max(seen_at, :now)
WHERE id = :id;

-- name: bury_processes
-- Declare processes dead that are gone without having stopped.
UPDATE processes SET stopped_at = :now
WHERE stopped_at IS NULL AND id NOT IN (SELECT value FROM json_each(:living));

-- name: forget_processes
-- Delete stopped processes that own nothing and have left no job begun.
DELETE FROM processes
WHERE
    stopped_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM owners WHERE owners.process_id = processes.id)
    AND NOT EXISTS (
        SELECT 1 FROM jobs INDEXED BY jobs_leased WHERE jobs.leased_by = processes.id
    );

-- name: take_instances
-- Become the owner of instances that have none.
INSERT INTO owners (instance_id, process_id, epoch)
VALUES (?, ?, 1) /* for each row */
ON CONFLICT (instance_id) DO NOTHING;

-- name: release_instances
-- Release instances.
DELETE FROM owners
WHERE process_id = :process_id AND instance_id IN (SELECT value FROM json_each(:ids));

-- name: orphans
-- Instances whose owner has stopped. Packed.
SELECT json_group_array(json_array(instance_id, is_clean))
FROM (
    SELECT owners.instance_id, processes.is_clean
    FROM processes CROSS JOIN owners ON owners.process_id = processes.id
    WHERE processes.stopped_at IS NOT NULL
    ORDER BY processes.id, owners.instance_id LIMIT ?
);

-- name: claim_instances
-- Take over instances of processes that are gone.
UPDATE owners SET process_id = :process_id, epoch = epoch + 1
WHERE instance_id IN (SELECT value FROM json_each(:ids));

------------------------------------------------------------------------------------------------ schema

-- name: has_schema_info
-- Whether this database has ever been migrated, and whether it has tables at all.
SELECT
    count(*) FILTER (WHERE name = 'schema_info'),
    count(*)
FROM sqlite_schema WHERE type = 'table';

-- name: schema_info
-- The newest migration that has run, and the oldest program that may use its schema.
SELECT version, oldest_program FROM schema_info;

-- name: put_schema_info
-- Record the newest migration.
INSERT INTO schema_info (only_row, version, oldest_program) VALUES (1, ?, ?)
ON CONFLICT (only_row) DO UPDATE
SET version = excluded.version, oldest_program = excluded.oldest_program;

------------------------------------------------------------------------------------------- connections

-- name: settings
-- Settings of every connection. Memory-mapped reads stay off: a disk error would be a signal, not an
-- error.
PRAGMA busy_timeout = 5000;
PRAGMA cache_size = -16384;
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = OFF;

-- name: writer_settings
-- Settings of the connection that writes. FULL: an acknowledged write survives a power cut. Checkpoints
-- are made beside it (`checkpoints.py`). The write-ahead log shrinks to 64 MB after a long reader has
-- prevented them.
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 0;
PRAGMA journal_size_limit = 67108864;

-- name: sync_later
-- Let commits wait for no disk: the next one that does takes them along.
PRAGMA synchronous = NORMAL;

-- name: sync_each
-- Let each commit wait until it is on the disk.
PRAGMA synchronous = FULL;

-- name: reader_settings
-- Settings of a connection that only reads.
PRAGMA query_only = ON;

-- name: checkpointer_settings
-- Settings of the connection that moves the write-ahead log into the database.
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 0;

-- name: sender_settings
-- Settings of a process without the lock, which reads and sends mailbox messages: as durable as the
-- writer, to which it leaves the checkpoints.
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 0;

-- name: settings_in_force
-- The settings that a benchmark prints beside its figures.
PRAGMA journal_mode;
PRAGMA synchronous;
PRAGMA page_size;
PRAGMA cache_size;
SELECT sqlite_version();

------------------------------------------------------------------------------------------------- outbox

-- name: heard
-- The highest level of lifecycle events that has a listener, and whether other events have one
-- outside.
SELECT coalesce(max(level), 0), coalesce(max(hears_inbox), 0) FROM listeners;

-- name: put_listener
-- Insert a listener, or replace the one of the same kind and id.
INSERT OR REPLACE INTO listeners ({listener_columns})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: delete_listener
-- Delete a listener.
DELETE FROM listeners WHERE tenant = ? AND kind = ? AND id = ? RETURNING 1;

-- fragment: packed_listeners
-- Listeners, packed.
json_group_array(
    json_array(
        tenant, kind, id, patterns, level, hears_inbox, hex(settings), hex(health), created_at,
        expires_at
    )
)

-- name: listeners
-- The listeners of a tenant. Packed.
SELECT {packed_listeners}
FROM listeners WHERE tenant = ?;

-- name: all_listeners
-- The listeners of all tenants. Packed.
SELECT {packed_listeners}
FROM listeners;

-- name: listening
-- A number that rises with every change of the listeners.
SELECT coalesce(max(version), 0) FROM listening;

-- name: put_health
-- Record the health of a listener's deliveries.
UPDATE listeners SET health = ? WHERE id = ? AND kind <> 'definition';

-- name: disable_listener
-- Disable a listener: it gets no events.
UPDATE listeners SET level = 0, hears_inbox = 0 WHERE id = ? AND kind <> 'definition';

-- name: enable_listener
-- Enable a listener that is disabled.
UPDATE listeners SET level = :level, hears_inbox = :hears_inbox, health = :health
WHERE tenant = :tenant AND kind = :kind AND id = :id AND level = 0 AND hears_inbox = 0
RETURNING 1;

-- name: change_listener
-- Change the address or the patterns of a listener; a disabled one stays disabled.
UPDATE listeners SET
    patterns = :patterns, settings = :settings,
    level = CASE WHEN level = 0 AND hears_inbox = 0 THEN 0 ELSE :level END,
    hears_inbox = CASE WHEN level = 0 AND hears_inbox = 0 THEN 0 ELSE :hears_inbox END
WHERE tenant = :tenant AND kind = :kind AND id = :id
RETURNING 1;

-- name: insert_outbox
-- Insert ranges of logs that have a listener.
INSERT INTO outbox (tenant, instance_id, first_seq, last_seq, status)
VALUES (?, ?, ?, ?, ?) /* for each row */;

-- name: insert_outbox_events
-- Insert events of the inbox that have a listener.
INSERT OR IGNORE INTO outbox (tenant, instance_id, first_seq, last_seq, status, event_number)
VALUES (?, ?, 0, 0, '', ?) /* for each row */;

-- fragment: first_tenant
-- The first tenant with rows in the outbox.
(SELECT min(first.tenant) FROM outbox AS first)

-- name: outbox
-- The oldest rows of the outbox, and the oldest few of each of some tenants, which follow one in a
-- circle; except those of some streams, with the numbers of events of the inbox, and with the ids of
-- those without a stream. Some are both. Packed.
WITH RECURSIVE turn (tenant, first, place) AS (
    SELECT begin.tenant, begin.tenant, 1
    FROM (
        SELECT coalesce(
            (SELECT min(next.tenant) FROM outbox AS next WHERE next.tenant > :after),
            {first_tenant}
        ) AS tenant
    ) AS begin
    UNION ALL
    SELECT
        coalesce(
            (SELECT min(next.tenant) FROM outbox AS next WHERE next.tenant > turn.tenant),
            {first_tenant}
        ),
        turn.first, turn.place + 1
    FROM turn
    -- The circle ends where it began; one tenant may be found twice.
    WHERE turn.place < :tenants AND (turn.place = 1 OR turn.tenant <> turn.first)
)

SELECT
    json_group_array(
        json_array(
            told.number, told.tenant, told.instance_id, told.first_seq, told.last_seq, told.status,
            told.event_number,
            iif(
                told.instance_id = '',
                (SELECT event.id FROM events AS event WHERE event.number = told.event_number),
                NULL
            )
        )
    )
FROM (
    SELECT oldest.number FROM (
        SELECT number FROM outbox
        WHERE number > 0 AND instance_id NOT IN (SELECT value FROM json_each(:passing_over))
        ORDER BY number LIMIT :limit
    ) AS oldest
    UNION ALL
    SELECT own.value FROM turn
    CROSS JOIN json_each((
        SELECT json_group_array(few.number) FROM (
            SELECT number FROM outbox
            WHERE
                tenant = turn.tenant
                AND instance_id NOT IN (SELECT value FROM json_each(:passing_over))
            ORDER BY number LIMIT :each
        ) AS few
    )) AS own
) AS taken
CROSS JOIN outbox AS told ON told.number = taken.number;

-- name: outbox_events
-- Events of the inbox, each with its place among those that were asked for, up to so many bytes of
-- payload and at least the first. The place alone where it is gone. Packed.
SELECT
    json_group_array(
        json_array(
            named.key, event.tenant, event.id, event.pattern, hex(event.payload),
            event.received_at, event.timestamp, event.correlation_id, hex(event.content_hash),
            event.chain, event.origin
        )
    )
FROM (
    SELECT
        asked.key, asked.value,
        sum(coalesce(length(sized.payload), 0)) OVER (ORDER BY asked.key) AS bytes
    FROM json_each(:numbers) AS asked
    LEFT JOIN events AS sized ON sized.number = asked.value
) AS named
LEFT JOIN events AS event ON event.number = named.value
WHERE named.key = 0 OR named.bytes <= :most;

-- name: stretches
-- Ranges of logs, each entry with the place of its range among those that were asked for. Packed.
SELECT
    json_group_array(
        json_array(
            asked.key, entry.seq, entry.event_type, entry.node_id, entry.iteration, entry.attempt,
            entry.node_status, entry.output_variable,
            iif(entry.payload IS NULL, NULL, hex(entry.payload)), entry.error_message, entry.at_ms
        )
    )
FROM json_each(?) AS asked
CROSS JOIN workflow_execution_history AS entry
    ON
        entry.instance_id = asked.value ->> 0
        AND entry.seq BETWEEN asked.value ->> 1 AND asked.value ->> 2;

-- name: delete_outbox
-- Delete rows of the outbox that were delivered.
DELETE FROM outbox WHERE number IN (SELECT value FROM json_each(?));

-- name: addressees
-- Those of these listeners that are enabled: one that was disabled or removed in the meantime gets
-- nothing. Packed.
SELECT json_group_array(id) FROM listeners
WHERE
    id IN (SELECT value FROM json_each(?)) AND kind <> 'definition'
    AND (level > 0 OR hears_inbox > 0);

-- name: insert_postings
-- Insert deliveries to listeners that are there; behind others of their stream, until they are
-- promoted.
INSERT INTO webhook_deliveries ({posting_columns})
VALUES (?, ?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (listener_id, event_id) DO NOTHING;

-- name: promote_postings
-- Make the first delivery of each of these streams due.
UPDATE webhook_deliveries SET due = created_at
WHERE
    due IS NULL
    AND number IN (
        SELECT (
            SELECT min(first.number) FROM webhook_deliveries AS first
            WHERE first.listener_id = wanted.value ->> 0 AND first.stream = wanted.value ->> 1
        )
        FROM json_each(?) AS wanted
    );

-- name: waiting_listeners
-- Listeners that have deliveries, with when the first one is due, by stepping from one to the next in
-- the index. Packed.
WITH RECURSIVE waiting (id) AS (
    SELECT min(listener_id) FROM webhook_deliveries WHERE due IS NOT NULL AND listener_id > ''
    UNION ALL
    SELECT (
        SELECT min(following.listener_id) FROM webhook_deliveries AS following
        WHERE following.due IS NOT NULL AND following.listener_id > waiting.id
    )
    FROM waiting WHERE waiting.id IS NOT NULL
)

SELECT
    json_group_array(
        json_array(
            waiting.id,
            (
                SELECT min(head.due) FROM webhook_deliveries AS head
                WHERE head.listener_id = waiting.id AND head.due IS NOT NULL
            )
        )
    )
FROM waiting WHERE waiting.id IS NOT NULL;

-- name: postings_due
-- Deliveries that are due to one listener: in turn one that was never tried and one that failed, of
-- both the longest due first. Packed.
SELECT
    json_group_array(
        json_array(listener_id, event_id, stream, hex(body), created_at, attempts)
    )
FROM (
    SELECT untried.*, row_number() OVER (ORDER BY untried.due, untried.number) AS turn
    FROM (
        SELECT * FROM webhook_deliveries
        WHERE listener_id = :listener_id AND due <= :now AND attempts = 0
        ORDER BY due, number LIMIT :each
    ) AS untried
    UNION ALL
    SELECT tried.*, row_number() OVER (ORDER BY tried.due, tried.number) AS turn
    FROM (
        SELECT * FROM webhook_deliveries
        WHERE listener_id = :listener_id AND due <= :now AND attempts > 0
        ORDER BY due, number LIMIT :each
    ) AS tried
    ORDER BY turn, attempts LIMIT :each
);

-- name: listeners_named
-- Those of these listeners that can have deliveries. Packed.
SELECT {packed_listeners}
FROM listeners
WHERE id IN (SELECT value FROM json_each(?)) AND kind <> 'definition';

-- name: streams_of_postings
-- The streams of these deliveries. Packed.
SELECT json_group_array(json_array(posting.listener_id, posting.stream))
FROM json_each(:event_ids) AS wanted
CROSS JOIN webhook_deliveries AS posting
    ON posting.listener_id = :listener_id AND posting.event_id = wanted.value;

-- name: delete_postings
-- Delete deliveries that have arrived.
DELETE FROM webhook_deliveries
WHERE listener_id = :listener_id AND event_id IN (SELECT value FROM json_each(:event_ids));

-- name: delete_postings_of
-- Delete all deliveries to a listener.
DELETE FROM webhook_deliveries WHERE listener_id = ?;

-- name: put_off_posting
-- Postpone a delivery that failed.
UPDATE webhook_deliveries SET attempts = attempts + 1, due = :due
WHERE listener_id = :listener_id AND event_id = :event_id;

-- name: postings_to
-- The first undelivered events of the streams of a listener, in the order in which they are tried.
SELECT
    posting.number, posting.event_id, posting.stream, posting.created_at, posting.attempts, posting.due
FROM webhook_deliveries AS posting INDEXED BY webhook_deliveries_due
WHERE
    posting.listener_id = :id AND posting.due IS NOT NULL
    AND (posting.due, posting.number) > (:due, :number)
    AND (
        SELECT count(*) FROM listeners AS listener
        WHERE listener.id = :id AND listener.tenant = :tenant AND listener.kind <> 'definition'
    ) > 0
ORDER BY posting.due, posting.number LIMIT :limit;

-- name: hasten_postings
-- Deliveries that were put off are due, so many of them.
UPDATE webhook_deliveries SET due = :now
WHERE
    number IN (
        SELECT posting.number FROM webhook_deliveries AS posting
        WHERE
            posting.listener_id IN (
                SELECT id FROM listeners
                WHERE tenant = :tenant AND id = :id AND kind <> 'definition'
            )
            AND posting.due > :now
        LIMIT :most
    )
RETURNING number;

-- name: backlogs
-- Count and age of the deliveries that the listeners of a tenant have. Packed.
SELECT json_group_array(json_array(found.id, found.count, found.oldest))
FROM (
    SELECT
        listener.id,
        (
            SELECT count(*) FROM webhook_deliveries AS posting
            WHERE posting.listener_id = listener.id
        ) AS count,
        (
            SELECT min(posting.created_at) FROM webhook_deliveries AS posting
            WHERE posting.listener_id = listener.id
        ) AS oldest
    FROM listeners AS listener
    WHERE listener.tenant = ? AND listener.kind IN ('subscription', 'webhook')
) AS found
WHERE found.count > 0;

-- name: events_to_prune
-- The oldest events before a moment, after a place: how many, the last of them, and those that can be
-- deleted. Kept are the newest of all, after which the next is numbered, those that are still to be
-- delivered, and those of instances that have not ended. Packed.
WITH seen AS MATERIALIZED (
    SELECT event.number, event.id, event.tenant, event.pattern, event.received_at, event.matched_at
    FROM events AS event
    WHERE
        event.tenant = :tenant AND event.received_at < :before
        AND (event.received_at, event.number) > (:after_at, :after_number)
    ORDER BY event.received_at, event.number LIMIT :limit
)

SELECT
    json_array(
        (SELECT count(*) FROM seen),
        json(
            (
                SELECT json_array(seen.received_at, seen.number) FROM seen
                ORDER BY seen.received_at DESC, seen.number DESC LIMIT 1
            )
        ),
        json(
            (
                SELECT json_group_array(json_array(event.number, event.id))
                FROM seen AS event
                WHERE
                    event.matched_at IS NOT NULL
                    AND event.number <> (SELECT max(number) FROM events)
                    AND NOT EXISTS (
                        SELECT 1 FROM outbox WHERE outbox.event_number = event.number
                    )
                    AND NOT EXISTS (
                        SELECT 1 FROM event_deliveries AS delivery
                        WHERE
                            delivery.event_id = event.id AND delivery.tenant = event.tenant
                            AND delivery.outcome = 'matched'
                    )
                    AND (
                        substr(event.pattern, 1, 9) = 'workflow.'
                        OR substr(event.id, 37, 1) <> ':'
                        OR NOT EXISTS (
                            SELECT 1 FROM workflow_instances AS instance
                            WHERE
                                instance.id = substr(event.id, 1, 36)
                                AND instance.status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
                        )
                    )
            )
        )
    );

-- name: delete_events
-- Delete events.
DELETE FROM events WHERE number IN (SELECT value FROM json_each(?));

-- name: delete_deliveries
-- Delete the deliveries of events.
DELETE FROM event_deliveries
WHERE event_id IN (SELECT value FROM json_each(:event_ids)) AND tenant = :tenant;

-- name: touch_access_keys
-- When keys were last used.
UPDATE access_keys SET last_used_at = max(coalesce(last_used_at, 0), :at ->> used.key)
FROM json_each(:ids) AS used WHERE access_keys.id = used.value;

-- name: audit_by_id
-- Those of these lines of the audit log that are written.
SELECT
    line.number, line.previous_hash, line.hash, line.id, line.tenant, line.at, line.actor, line.kind,
    line.action, line.target, line.outcome, line.source, line.request_id, line.credential, line.before,
    line.after
FROM json_each(:ids) AS wanted
INNER JOIN audit_log AS line
    ON line.tenant = :tenants ->> wanted.key AND line.id = wanted.value;

-- name: insert_audit
-- Insert lines of the audit log. A trigger updates the ends of their chains.
INSERT INTO audit_log ({audit_columns})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row */;

-- name: lock_audit_heads
-- The ends of chains: there is one writer, so that nothing has to be locked.
SELECT tenant, number, hash FROM audit_heads WHERE tenant IN (SELECT value FROM json_each(:tenants));

-- name: begin_audit
-- Insert the ends of chains that have no line yet.
INSERT INTO audit_heads (tenant, number, hash)
SELECT value, 0, x'' FROM json_each(:tenants) WHERE TRUE ON CONFLICT (tenant) DO NOTHING;

-- name: pushed_tasks
-- The tasks of all tenants that are pushed.
SELECT {task_columns}
FROM task_definitions INDEXED BY task_definitions_pushed
WHERE is_pushed AND (tenant, id) > (:tenant, :id) ORDER BY tenant, id LIMIT :limit;

-- name: remove_task
-- Remove a task, and the state of its address.
DELETE FROM push_targets WHERE tenant = :tenant AND task_id = :id;
DELETE FROM task_definitions WHERE tenant = :tenant AND id = :id RETURNING 1;

-- name: pushed_with_jobs
-- The tasks of all tenants that are pushed and have unclaimed jobs.
SELECT task.tenant, task.id
FROM task_definitions AS task INDEXED BY task_definitions_pushed
WHERE
    task.is_pushed AND EXISTS (
        SELECT 1 FROM jobs AS job INDEXED BY jobs_of_tenant
        WHERE
            job.leased_by IS NULL AND job.tenant = task.tenant AND job.task_id = task.id
            AND NOT job.is_called_off
    )
ORDER BY task.tenant, task.id;

-- name: pushed_of_tenant
-- Which tasks of a tenant are pushed.
SELECT id FROM task_definitions INDEXED BY task_definitions_pushed WHERE is_pushed AND tenant = ?;

-- name: hand_over
-- Extend leases of workers to the time-outs of their attempts.
UPDATE jobs SET leased_until = overdue_at
WHERE
    is_outside AND leased_by IS NOT NULL AND leased_until > :now
    AND {is_given_lease};

------------------------------------------------------------------------------------------------ upkeep

-- name: depths
-- How much is waiting, and since when; each count stops at its limit. Packed.
WITH RECURSIVE tenants (tenant) AS (
    SELECT min(instance.tenant) FROM workflow_instances AS instance
    UNION ALL
    SELECT (
        SELECT min(instance.tenant) FROM workflow_instances AS instance
        WHERE instance.tenant > tenants.tenant
    )
    FROM tenants WHERE tenants.tenant IS NOT NULL
),

test_runs (id) AS MATERIALIZED (
    -- Test runs do not count. They have an index of their own: to test the definition of each active
    -- instance would read as many rows.
    SELECT instance.id FROM tenants
    CROSS JOIN workflow_instances AS instance INDEXED BY workflow_instances_by_definition
    WHERE
        instance.tenant = tenants.tenant
        AND instance.definition_id >= '~test:' AND instance.definition_id < '~tesu'
        AND instance.status IN (SELECT value FROM json_each(:statuses))
    LIMIT :most
)

SELECT
    json_array(
        (
            SELECT count(*) FROM (
                SELECT 1 FROM tenants
                CROSS JOIN json_each(:statuses) AS wanted
                CROSS JOIN workflow_instances AS instance
                WHERE instance.tenant = tenants.tenant AND instance.status = wanted.value
                LIMIT :most
            )
        )
        - (SELECT count(*) FROM test_runs),
        (SELECT count(*) FROM (SELECT 1 FROM workflow_event_subscriptions LIMIT :most))
        - (
            SELECT count(*) FROM test_runs
            CROSS JOIN workflow_event_subscriptions AS open
            WHERE open.instance_id = test_runs.id
        ),
        (SELECT count(*) FROM (SELECT 1 FROM mailbox LIMIT :most)),
        (
            SELECT count(*) FROM (
                SELECT 1 FROM jobs WHERE jobs.leased_by IS NULL LIMIT :most
            )
        )
        - (
            SELECT count(*) FROM test_runs
            CROSS JOIN jobs
            WHERE jobs.instance_id = test_runs.id AND jobs.leased_by IS NULL
        ),
        (SELECT count(*) FROM (SELECT 1 FROM timers WHERE timers.due <= :now LIMIT :most)),
        (SELECT count(*) FROM (SELECT 1 FROM outbox LIMIT :most)),
        (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries LIMIT :most)),
        (SELECT min(old.created_at) FROM (SELECT created_at FROM mailbox LIMIT :most) AS old),
        (
            SELECT min(old.offered_at) FROM (
                SELECT offered_at FROM jobs WHERE jobs.leased_by IS NULL LIMIT :most
            ) AS old
        ),
        (SELECT min(timers.due) FROM timers WHERE timers.due <= :now),
        (
            SELECT coalesce(event.received_at, history.at_ms)
            FROM outbox AS told
            LEFT JOIN events AS event ON told.event_number = event.number
            LEFT JOIN workflow_execution_history AS history
                ON told.instance_id = history.instance_id AND told.first_seq = history.seq
            ORDER BY told.number LIMIT 1
        ),
        (
            SELECT min(old.created_at) FROM (
                SELECT created_at FROM webhook_deliveries LIMIT :most
            ) AS old
        )
    );

-- name: stored_instances
-- How many instances of a tenant have not ended.
SELECT count(*) FROM (
    SELECT 1 FROM json_each(:statuses) AS wanted
    CROSS JOIN workflow_instances AS instance
        INDEXED BY workflow_instances_by_status
    WHERE instance.tenant = :tenant AND instance.status = wanted.value
    LIMIT :most
);

-- name: stored_waits
-- How many waits and triggers a tenant has.
SELECT count(*) FROM (
    SELECT 1 FROM workflow_event_subscriptions WHERE tenant = :tenant LIMIT :most
);

-- name: stored_events
-- How many events a tenant has in the inbox.
SELECT count(*) FROM (SELECT 1 FROM events WHERE tenant = :tenant LIMIT :most);

-- name: bytes_of_logs
-- The bytes of the next entries of a tenant's instances, in the order of the change of these, and the
-- place of the last one, unless that is the end. The key of the log has the entries in their order.
WITH page AS MATERIALIZED (
    SELECT
        instance.updated_at AS at, instance.id, entry.seq AS number,
        coalesce(length(entry.payload), 0) + :row_bytes AS size
    FROM workflow_instances AS instance INDEXED BY workflow_instances_by_change
    CROSS JOIN workflow_execution_history AS entry
    WHERE
        instance.tenant = :tenant
        AND (instance.updated_at, instance.id) >= (:at, :id)
        AND instance.updated_at <= :until
        AND entry.instance_id = instance.id
        AND entry.seq > CASE WHEN instance.id = :id THEN :number ELSE 0 END
    ORDER BY instance.updated_at, instance.id LIMIT :limit
)

SELECT json_array(
    coalesce(sum(size), 0),
    json((SELECT json_array(at, id, number) FROM page LIMIT 1 OFFSET :limit - 1))
) FROM page;

-- name: bytes_of_lines
-- The same of lines of tasks; of those that were written at the same moment some may be left out.
WITH page AS MATERIALIZED (
    SELECT
        instance.updated_at AS at, instance.id, chunk.at AS number,
        chunk.size + :row_bytes AS size
    FROM workflow_instances AS instance INDEXED BY workflow_instances_by_change
    CROSS JOIN task_logs AS chunk INDEXED BY task_logs_by_time
    WHERE
        instance.tenant = :tenant
        AND (instance.updated_at, instance.id) >= (:at, :id)
        AND instance.updated_at <= :until
        AND chunk.instance_id = instance.id
        AND chunk.at > CASE WHEN instance.id = :id THEN :number ELSE -1 END
    ORDER BY instance.updated_at, instance.id LIMIT :limit
)

SELECT json_array(
    coalesce(sum(size), 0),
    json((SELECT json_array(at, id, number) FROM page LIMIT 1 OFFSET :limit - 1))
) FROM page;

-- name: bytes_of_events
-- The same of a tenant's events, oldest first.
WITH page AS MATERIALIZED (
    SELECT received_at AS at, number, length(payload) + :row_bytes AS size
    FROM events INDEXED BY events_by_time
    WHERE
        tenant = :tenant AND (received_at, number) > (:at, :number) AND received_at <= :until
    ORDER BY received_at, number LIMIT :limit
)

SELECT json_array(
    coalesce(sum(size), 0),
    json((SELECT json_array(at, '', number) FROM page LIMIT 1 OFFSET :limit - 1))
) FROM page;

-- name: bytes_of_definitions
-- The same of a tenant's definitions, by id and version.
WITH page AS MATERIALIZED (
    SELECT id, version AS number, length(content) + :row_bytes AS size
    FROM workflow_definitions
    WHERE tenant = :tenant AND (id, version) > (:id, :number)
    ORDER BY id, version LIMIT :limit
)

SELECT json_array(
    coalesce(sum(size), 0),
    json((SELECT json_array(0, id, number) FROM page LIMIT 1 OFFSET :limit - 1))
) FROM page;

-- name: open_of_origin
-- How many instances of an origin have not ended.
SELECT count(*) FROM (
    SELECT 1 FROM workflow_instances WHERE origin_id = ? AND completed_at IS NULL LIMIT ?
);

------------------------------------------------------------------------------------- for good
-- Erasing an instance deletes its rows in every table that names instances.

-- name: families
-- Roots with all instances below them, and whether each can be erased: it has ended and has no open
-- work. The mailbox and the outbox are walked: they hold only rows that are not yet delivered. Packed.
SELECT json_group_array(json_array(
    member.root, member.id,
    instance.status IN ('COMPLETED', 'FAILED', 'CANCELLED')
    AND (
        :with_debts
        OR NOT (
            EXISTS (SELECT 1 FROM owners WHERE owners.instance_id = member.id)
            OR EXISTS (SELECT 1 FROM timers WHERE timers.instance_id = member.id)
            OR EXISTS (
                SELECT 1 FROM workflow_event_subscriptions AS open
                WHERE open.instance_id = member.id
            )
            OR EXISTS (SELECT 1 FROM jobs WHERE jobs.instance_id = member.id)
            OR EXISTS (SELECT 1 FROM mailbox WHERE mailbox.instance_id = member.id)
            OR EXISTS (SELECT 1 FROM outbox WHERE outbox.instance_id = member.id)
            OR EXISTS (
                SELECT 1 FROM listeners CROSS JOIN webhook_deliveries AS posting
                WHERE posting.listener_id = listeners.id AND posting.stream = member.id
            )
        )
    )
    AND (
        :with_dead_letters
        OR NOT EXISTS (SELECT 1 FROM dead_letters WHERE dead_letters.instance_id = member.id)
    )
))
FROM (
    SELECT root.id AS root, root.id FROM json_each(:ids) AS wanted
    CROSS JOIN workflow_instances AS root
    WHERE root.id = wanted.value AND root.tenant = :tenant AND root.root_id IS NULL
    UNION ALL
    SELECT root.id AS root, child.id FROM json_each(:ids) AS wanted
    CROSS JOIN workflow_instances AS root
    CROSS JOIN workflow_instances AS child
    WHERE
        root.id = wanted.value AND root.tenant = :tenant AND root.root_id IS NULL
        AND child.root_id = root.id
) AS member
CROSS JOIN workflow_instances AS instance
WHERE instance.id = member.id;

-- name: erase_steps
-- Delete their current steps.
DELETE FROM workflow_current_steps WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_snapshots
-- Delete their folds.
DELETE FROM workflow_snapshots WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_logs
-- Delete their logs.
DELETE FROM workflow_execution_history WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_keys
-- Delete their idempotency keys, which can be used again.
DELETE FROM idempotency_keys WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_waits
-- Delete their waits.
DELETE FROM workflow_event_subscriptions WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_deliveries
-- Delete the deliveries of events to them.
DELETE FROM event_deliveries WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_timers
-- Delete their timers.
DELETE FROM timers WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_mail
-- Delete mailbox messages to them. Walks the mailbox, which holds only messages that are not yet
-- taken.
DELETE FROM mailbox WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_owners
-- Delete their owners.
DELETE FROM owners WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_jobs
-- Delete their jobs.
DELETE FROM jobs WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_dead_letters
-- Delete their dead letters.
DELETE FROM dead_letters WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_outbox
-- Delete their rows of the outbox. Walks the outbox, which holds only undelivered rows.
DELETE FROM outbox WHERE instance_id IN (SELECT value FROM json_each(?));

-- name: erase_postings
-- Delete their deliveries to listeners.
DELETE FROM webhook_deliveries
WHERE
    stream IN (SELECT value FROM json_each(?))
    AND listener_id IN (SELECT DISTINCT listeners.id FROM listeners);

-- name: erase_instances
-- Delete instances.
DELETE FROM workflow_instances WHERE id IN (SELECT value FROM json_each(?));

-- name: erase_definition
-- Delete all versions of a definition.
DELETE FROM workflow_definitions WHERE tenant = :tenant AND id = :id;

-- name: old_rehearsals
-- Definitions of test runs, oldest first.
SELECT tenant, id FROM workflow_definitions INDEXED BY workflow_definitions_rehearsed
WHERE id >= '~test:' AND id < '~tesu' AND created_at < :before
ORDER BY created_at LIMIT :limit;

--------------------------------------------------------------------------------------- bulk operations

-- name: prune_bulks
-- Delete bulk operations of a tenant that have ended, oldest first.
DELETE FROM bulk_operations
WHERE
    tenant = :tenant
    AND id IN (
        SELECT old.id FROM bulk_operations AS old
        WHERE old.tenant = :tenant AND old.created_at < :before AND old.is_open = 0
        ORDER BY old.created_at, old.id LIMIT :limit
    )
RETURNING id;

-- name: claim_bulks
-- Claim open bulk operations that no process holds.
UPDATE bulk_operations SET token = token + 1, held_until = :until
WHERE
    (tenant, id) IN (
        SELECT free.tenant, free.id FROM bulk_operations AS free
        WHERE free.is_open = 1 AND free.held_until <= :now
        ORDER BY free.held_until LIMIT :limit
    )
RETURNING {bulk_columns};

------------------------------------------------------------------------------------------- numbers

-- name: tallies
-- The newest instances of a status, counted by definition and by the minutes of their start and end.
SELECT
    definition_id,
    CASE WHEN created_at >= :apart_from THEN created_at / 60000 ELSE 0 END AS started,
    CASE WHEN completed_at >= :apart_from THEN completed_at / 60000 ELSE 0 END AS ended,
    count(*)
FROM (
    SELECT definition_id, created_at, completed_at FROM workflow_instances
    WHERE tenant = :tenant AND status = :status AND created_at >= :since
    ORDER BY created_at DESC LIMIT :most
)
GROUP BY 1, 2, 3;


------------------------------------------------------------------------------------------ schedules

-- name: due_schedules
-- Those that have something to do, up to the one that reaches so many bytes: there is one process,
-- for which nothing has to be claimed.
SELECT {schedule_columns} FROM schedules
WHERE (tenant, id) IN (
    SELECT tenant, id FROM (
        SELECT
            tenant, id,
            sum(size) OVER (
                ORDER BY next_at, tenant, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS before
        FROM (
            SELECT tenant, id, next_at, length(content) AS size FROM schedules
            WHERE
                next_at <= :now AND :claim > 0
                AND (next_at, tenant, id) > (:after, :tenant, :id)
            ORDER BY next_at, tenant, id LIMIT :limit
        )
    )
    WHERE coalesce(before, 0) < :most_bytes
);

-- name: those_schedules
-- Some schedules, in their order, up to the one that reaches so many bytes.
SELECT {schedule_columns} FROM schedules
WHERE (tenant, id) IN (
    SELECT tenant, id FROM (
        SELECT
            tenant, id,
            sum(size) OVER (
                ORDER BY tenant, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS before
        FROM (
            SELECT tenant, id, length(content) AS size FROM schedules
            WHERE (tenant, id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:keys))
        )
    )
    WHERE coalesce(before, 0) < :most_bytes
)
ORDER BY tenant, id;

-- name: move_schedules
-- Let the schedules of some calendars find their next ticks again.
UPDATE schedules SET version = version + 1, next_at = :next_at
WHERE
    tenant = :tenant AND calendar_id IN (SELECT value FROM json_each(:calendars))
    AND status IN ('active', 'error');

-- name: fire_schedules
-- Advance schedules that have the version before; which they are.
UPDATE schedules SET
    revision = given.revision,
    version = given.version,
    status = given.status,
    next_at = given.next_at,
    next_tick = given.next_tick,
    handled = given.handled,
    note = given.note,
    problem = given.problem,
    tries = given.tries,
    last_executed = given.last_executed,
    last_nominal = given.last_nominal,
    last_instance_id = given.last_instance_id,
    changed_at = given.changed_at,
    changed_by = given.changed_by
FROM (
    SELECT
        value ->> 'tenant' AS tenant,
        value ->> 'id' AS id,
        value ->> 'revision' AS revision,
        value ->> 'version' AS version,
        value ->> 'status' AS status,
        value ->> 'next_at' AS next_at,
        value ->> 'next_tick' AS next_tick,
        value ->> 'handled' AS handled,
        value ->> 'note' AS note,
        value ->> 'problem' AS problem,
        value ->> 'tries' AS tries,
        value ->> 'last_executed' AS last_executed,
        value ->> 'last_nominal' AS last_nominal,
        value ->> 'last_instance_id' AS last_instance_id,
        value ->> 'changed_at' AS changed_at,
        value ->> 'changed_by' AS changed_by,
        value ->> 'created_at' AS created_at
    FROM json_each(:rows)
) AS given
WHERE
    schedules.tenant = given.tenant AND schedules.id = given.id
    AND schedules.version = given.version - 1 AND schedules.created_at = given.created_at
RETURNING schedules.tenant, schedules.id;

-- name: put_ticks
-- Record ticks, in the place of those of the same nominal times; one that was started stays so,
-- unless it is said of its instance that it was refused.
INSERT INTO schedule_ticks ({tick_columns})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (tenant, schedule_id, nominal, is_range) DO UPDATE SET
    at = excluded.at,
    outcome = excluded.outcome,
    instance_id = excluded.instance_id,
    reason = excluded.reason,
    count = excluded.count,
    last = excluded.last,
    is_open = excluded.is_open,
    is_confirmed = excluded.is_confirmed,
    mark = excluded.mark,
    recorded_at = excluded.recorded_at
WHERE
    schedule_ticks.outcome <> 'started' OR excluded.outcome = 'started'
    OR schedule_ticks.instance_id = excluded.instance_id;

-- name: open_ticks
-- The open ticks of schedules, the oldest of each.
SELECT {tick_columns} FROM schedule_ticks
WHERE
    is_open = 1
    AND (tenant, schedule_id, nominal) IN (
        SELECT tenant, schedule_id, nominal FROM (
            SELECT
                open.tenant, open.schedule_id, open.nominal,
                row_number() OVER (
                    PARTITION BY open.tenant, open.schedule_id ORDER BY open.nominal
                ) AS place
            FROM json_each(:keys) AS key
            CROSS JOIN schedule_ticks AS open
            WHERE
                open.tenant = key.value ->> 0 AND open.schedule_id = key.value ->> 1
                AND open.is_open = 1 AND (:is_any = 1 OR open.is_confirmed = 0)
        )
        WHERE place <= :limit
    );

-- name: close_ticks
-- The instances of ticks have ended.
UPDATE schedule_ticks SET is_open = 0, is_confirmed = 1
WHERE
    is_range = 0 AND is_open = 1 AND outcome = 'started'
    AND (tenant, schedule_id, nominal) IN (
        SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:ticks)
    );

---------------------------------------------------------------------------------------------- slots

-- name: release_slots
-- Give slots back, or withdraw requests.
DELETE FROM slots
WHERE (instance_id, node, iteration) IN (
    SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)
);

-- name: ask_for_slots
-- Ask for slots.
INSERT INTO slots (
    instance_id, node, iteration, tenant, definition_id, keys, own_key, own_limit, on_full, number,
    rank_class, rank, priority, deadline, asked_at, state, held_at, pace,
    above, blocked_on
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) /* for each row */;

-- name: pass_is_due
-- Whether any row waits, and whether a pass has something to do for one.
SELECT
    EXISTS (SELECT 1 FROM slots WHERE state = 'waiting')
    OR EXISTS (SELECT 1 FROM slots WHERE state = 'settling'),
    EXISTS (SELECT 1 FROM slots WHERE state = 'waiting' AND blocked_on = '')
    OR EXISTS (SELECT 1 FROM slots WHERE state = 'settling' AND blocked_on = '')
    OR EXISTS (SELECT 1 FROM slots_freed);

-- name: wait_for_limits
-- Rows wait for limits.
INSERT INTO slot_counts (tenant, limit_key, taken, is_waited_for)
VALUES (?, ?, 0, 1) /* for each row */
ON CONFLICT (limit_key) DO UPDATE SET is_waited_for = 1;

-- name: add_counts
-- Count slots that a turn takes.
INSERT INTO slot_counts (tenant, limit_key, taken)
VALUES (?, ?, ?) /* for each row */
ON CONFLICT (limit_key) DO UPDATE SET taken = taken + excluded.taken;

-- name: rank_slots
-- Put waiting instances into another order.
UPDATE slots SET rank = CASE
    WHEN :order = 'priority' THEN asked_at - max(
        -:most_ahead, min(:most_ahead, priority * :aging)
    )
    WHEN :order = 'deadline' THEN coalesce(deadline, asked_at + :later)
    ELSE asked_at
END
WHERE
    instance_id IN (SELECT value FROM json_each(:instance_ids)) AND node = ''
    AND state <> 'held' AND rank_class = :rank_class;

-- name: prioritise_slots
-- Give waiting instances a priority.
UPDATE slots SET priority = :priority
WHERE
    instance_id IN (SELECT value FROM json_each(:instance_ids)) AND tenant = :tenant
    AND node = '' AND state IN ('waiting', 'settling', 'on-hold');

-- name: hold_back_slots
-- Keep waiting instances from being admitted.
UPDATE slots SET state = 'on-hold', blocked_on = ''
WHERE
    instance_id IN (SELECT value FROM json_each(:instance_ids)) AND tenant = :tenant
    AND node = '' AND state IN ('waiting', 'settling') AND rank_class > 0;

-- name: paces_of
-- What is known of these keys.
SELECT pace_key, document FROM paces WHERE pace_key IN (SELECT value FROM json_each(:keys));

-- name: pace_states
-- What is known of these keys, with the next moment of each.
SELECT pace_key, next_at, document FROM paces
WHERE pace_key IN (SELECT value FROM json_each(:keys));

-- name: put_paces
-- Set what is known of keys.
INSERT INTO paces (tenant, pace_key, next_at, kept_until, document)
VALUES (?, ?, ?, ?, ?) /* for each row */
ON CONFLICT (pace_key) DO UPDATE SET
    next_at = excluded.next_at, kept_until = excluded.kept_until, document = excluded.document;

-- name: drop_paces
-- Forget keys.
DELETE FROM paces WHERE pace_key IN (SELECT value FROM json_each(:keys));

-- name: calm_paces
-- No row waits for these keys any more.
UPDATE paces SET next_at = NULL WHERE pace_key IN (SELECT value FROM json_each(:keys));

-- name: move_slots
-- Move debounced requests.
WITH moved (instance_id, state, blocked_on) AS (
    VALUES (?, ?, ?) /* for each row */
)

UPDATE slots SET state = moved.state, blocked_on = moved.blocked_on
FROM moved
WHERE
    slots.instance_id = moved.instance_id AND slots.node = '' AND slots.iteration = ''
    AND slots.state = 'settling';

-- name: forget_freed
-- Delete what a pass has taken back.
DELETE FROM slots_freed WHERE number IN (SELECT value FROM json_each(:numbers));

-- name: lines_waited_for
-- Of these limits and of those with slots that were freed: how many slots are taken, and some tenants with rows that are
-- parked on it, those first whose turn is next; with the turn of each, and how many slots it has. The last row of a limit
-- has no tenant.
WITH RECURSIVE named (key) AS (
    SELECT value FROM json_each(:keys)
    UNION
    SELECT name.value
    FROM (SELECT keys FROM slots_freed ORDER BY number LIMIT :limit) AS freed
    CROSS JOIN json_each(freed.keys) AS name
),

line (key, tenant) AS (
    SELECT
        named.key,
        (
            SELECT min(slot.tenant) FROM slots AS slot
            WHERE slot.state = 'waiting' AND slot.blocked_on = named.key
        )
    FROM named
    UNION ALL
    SELECT
        line.key,
        (
            SELECT min(slot.tenant) FROM slots AS slot
            WHERE
                slot.state = 'waiting' AND slot.blocked_on = line.key
                AND slot.tenant > line.tenant
        )
    FROM line WHERE line.tenant IS NOT NULL
),

placed AS (
    SELECT
        line.key, line.tenant, turn.taken AS turn,
        row_number() OVER (
            PARTITION BY line.key
            ORDER BY
                line.tenant IS NULL,
                max(
                    coalesce(turn.taken, 0),
                    coalesce((SELECT taken FROM slot_counts WHERE limit_key = 'turn:'), 0)
                ),
                (
                    SELECT min(slot.rank_class) FROM slots AS slot
                    WHERE
                        slot.state = 'waiting' AND slot.blocked_on = line.key
                        AND slot.tenant = line.tenant
                ),
                (
                    SELECT slot.rank FROM slots AS slot
                    WHERE
                        slot.state = 'waiting' AND slot.blocked_on = line.key
                        AND slot.tenant = line.tenant
                    ORDER BY slot.rank_class, slot.rank LIMIT 1
                ),
                line.tenant
        ) AS place
    FROM line
    LEFT JOIN slot_counts AS turn ON turn.limit_key = 'turn:' || line.tenant
)

SELECT
    placed.key, counted.taken, counted.is_waited_for,
    placed.tenant, placed.turn, own.taken AS own_taken, own.is_waited_for AS is_own_waited_for
FROM placed
LEFT JOIN slot_counts AS counted ON counted.limit_key = placed.key
LEFT JOIN slot_counts AS own ON own.limit_key = 'tenant:' || placed.tenant
WHERE placed.tenant IS NULL OR placed.place <= :most_tenants
ORDER BY placed.key, placed.place;

-- name: keys_waited_for
-- Those of these limits on which a row is parked.
SELECT wanted.value FROM json_each(:keys) AS wanted
WHERE EXISTS (SELECT 1 FROM slots WHERE state = 'waiting' AND blocked_on = wanted.value);

-- name: counts_of
-- How many slots of these limits are taken.
SELECT limit_key, taken, is_waited_for FROM slot_counts
WHERE limit_key IN (SELECT value FROM json_each(:keys));

-- name: lines_of
-- How many rows of a tenant are parked on each of these limits, each up to so many.
SELECT
    wanted.value,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM slots
            WHERE state = 'waiting' AND blocked_on = wanted.value AND tenant = :tenant LIMIT :most
        )
    )
FROM json_each(:keys) AS wanted;

-- name: slots_held_by
-- The limits of the slots that these instances hold.
SELECT instance_id, keys FROM slots
WHERE
    instance_id IN (SELECT value FROM json_each(:instance_ids)) AND node = '' AND state = 'held';

-- name: lock_slots
-- The states of these rows, and of others of the same instances: arrays that are joined would be compared each with each.
SELECT instance_id, node, iteration, state FROM slots
WHERE instance_id IN (SELECT value FROM json_each(:instance_ids));

-- name: hold_slots
-- Grant slots; gives those that are.
UPDATE slots SET state = 'held', blocked_on = '', held_at = :now
WHERE (instance_id, node, iteration, number) IN (
    SELECT
        id.value,
        json_extract(:nodes, '$[' || id.key || ']'),
        json_extract(:iterations, '$[' || id.key || ']'),
        json_extract(:numbers, '$[' || id.key || ']')
    FROM json_each(:instance_ids) AS id
)
RETURNING instance_id, node, iteration;

-- name: set_slots_aside
-- Let rows wait no longer whose instances are about to end.
UPDATE slots SET state = 'ended', blocked_on = ''
WHERE (instance_id, node, iteration) IN (
    SELECT
        id.value,
        json_extract(:nodes, '$[' || id.key || ']'),
        json_extract(:iterations, '$[' || id.key || ']')
    FROM json_each(:instance_ids) AS id
);

-- name: park_slots
-- Park rows on limits that are full.
WITH parked (instance_id, node, iteration, blocked_on) AS (
    VALUES (?, ?, ?, ?) /* for each row */
)

UPDATE slots SET blocked_on = parked.blocked_on
FROM parked
WHERE
    slots.instance_id = parked.instance_id AND slots.node = parked.node
    AND slots.iteration = parked.iteration;

-- name: put_counts
-- Set how many slots of limits are taken.
INSERT INTO slot_counts (tenant, limit_key, taken, is_waited_for)
VALUES (?, ?, ?, ?) /* for each row */
ON CONFLICT (limit_key) DO UPDATE SET
    taken = excluded.taken, is_waited_for = excluded.is_waited_for;

-- name: forget_counts
-- Delete the counts of limits of which no slot is taken, and that no row waits for.
DELETE FROM slot_counts WHERE limit_key IN (SELECT value FROM json_each(:keys));

-- name: drop_counts
-- Delete the counts of limits of which no slot is taken.
DELETE FROM slot_counts
WHERE limit_key IN (SELECT value FROM json_each(:keys)) AND taken = 0 AND is_waited_for = 0;
