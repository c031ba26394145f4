-- The statements of the store, by name, each with its purpose. SQL that several statements share is a
-- fragment, named in braces. Fragments of columns are in `../columns.sql`.
--
-- A round trip costs more than a row, hence three rules. Many rows are passed as arrays, one for each
-- column, and read with `unnest`. A turn is written with one statement: `turn` with its *parts* as
-- common table expressions, only those that the turn needs. No two parts may change the same row, since
-- each sees the tables as they were when the statement began. And one read is one statement, so that it
-- sees one moment.
--
-- A comparison that must be a look-up for each row is written as a scalar sub-select or as LATERAL with
-- a limit: the planner cannot turn that into a scan, whatever its estimates of the tables' sizes.
-- Rows to claim are chosen in a MATERIALIZED part, so that the limit holds.
--
-- Reads for a tenant are under row-level security (`wall`). There an index is used only for comparisons
-- that cannot fail and so reveal a row (leakproof ones): comparisons of texts and numbers are, one with a
-- COALESCE in it is not.

---------------------------------------------------------------------------------------- transactions

-- name: begin
-- Start a transaction that sees what others have committed, whatever the default of the database.
BEGIN ISOLATION LEVEL READ COMMITTED;

-- name: begin_pooled
-- Start a transaction on a connection of a pooler, which other clients use next: it keeps no settings.
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '30s';
SET LOCAL idle_in_transaction_session_timeout = '5s';
SET LOCAL enable_seqscan = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SET LOCAL jit = off;

-- name: durable_later
-- Let the commit wait for no disk: what can be done again is durable with the next commit that waits.
SET LOCAL synchronous_commit = off;

-- name: begin_pass
-- Let one process at a time grant slots.
SELECT 1 FROM tenuto.concurrency WHERE tenant = '' FOR UPDATE;

-- name: begin_look
-- Start a transaction in which all reads see the same moment, pooled or not.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL lock_timeout = '10s';
SET LOCAL statement_timeout = '30s';
SET LOCAL idle_in_transaction_session_timeout = '15s';

-- name: begin_migration
-- Start a transaction without time limits, which waits for other migrations.
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = 0;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = '60s';

-- name: commit
-- Make a transaction durable.
COMMIT;

-- name: rollback
-- Undo a transaction.
ROLLBACK;

------------------------------------------------------------------------------------------------ turns

-- name: turn
-- A turn, optimistically: where a write of it loses, the statement fails and nothing of it is written.
WITH alive AS MATERIALIZED (
    SELECT 1 FROM tenuto.processes
    WHERE id = :process_id AND stopped_at IS NULL
    FOR KEY SHARE
)
/* parts */
SELECT
    CASE
        WHEN NOT EXISTS (SELECT 1 FROM alive) THEN tenuto.contended()
        /* checks */
    END AS is_contended
    /* results */;

-- name: turn_of_winners
-- The rest of a turn, once its winners are known.
WITH nothing AS (SELECT 1)
/* parts */
SELECT
    CASE
        WHEN false THEN false
        /* checks */
    END AS is_contended
    /* results */;

-- name: lock_process
-- Whether a process may write; it is not declared dead before the transaction is over.
SELECT 1 FROM tenuto.processes
WHERE id = :process_id AND stopped_at IS NULL
FOR KEY SHARE;

-- name: entries
-- Part, the gate: insert entries into the log where there are none. The first of an instance in a
-- turn, the one with the turn's id, is inserted only if the entry before it is the newest, and one
-- that only reserves a place only if there is none at its place or behind. The unique index is not
-- enough: an entry that is being erased no longer conflicts once that is done.
INSERT INTO tenuto.workflow_execution_history (instance_id, {entry_columns}, turn_id)
SELECT entry.*
FROM unnest(
    :instance_id::text[], :seq::bigint[], :event_type::text[], :node_id::text[],
    :iteration::text[], :attempt::bigint[], :node_status::text[], :output_variable::text[],
    :payload::bytea[], :error_message::text[], :at_ms::bigint[], :turn_id::text[]
) AS entry (instance_id, {entry_columns}, turn_id)
WHERE
    (entry.turn_id IS NULL AND entry.event_type <> '')
    OR entry.seq = 1
    OR coalesce(
        (
            SELECT newest.seq FROM tenuto.workflow_execution_history AS newest
            WHERE newest.instance_id = entry.instance_id
            ORDER BY newest.seq DESC LIMIT 1
        ), 0
    ) BETWEEN CASE WHEN entry.turn_id IS NULL THEN 0 ELSE entry.seq - 1 END AND entry.seq - 1
ON CONFLICT (instance_id, seq) DO NOTHING
RETURNING instance_id;

-- name: entries_check
-- Whether all entries were inserted.
WHEN (SELECT count(*) FROM entries) < cardinality(:instance_id::text[]) THEN tenuto.contended();

-- name: owners_taken
-- Part, the gate too: become the owner where no other process is.
INSERT INTO tenuto.owners (instance_id, process_id, epoch)
SELECT taken.instance_id, :process_id, 1 FROM unnest(:instance_id::text[]) AS taken (instance_id)
ON CONFLICT (instance_id) DO UPDATE SET epoch = owners.epoch
WHERE owners.process_id = excluded.process_id
RETURNING instance_id;

-- name: owners_taken_check
-- Whether no other process owns one of them.
WHEN (SELECT count(*) FROM owners_taken) < cardinality(:instance_id::text[]) THEN tenuto.contended();

-- name: owned_elsewhere
-- Which of these another process owns.
SELECT instance_id FROM tenuto.owners
WHERE instance_id = ANY(:instance_id::text[]) AND process_id <> :process_id;

-- name: owned
-- Which of these a process owns already.
SELECT instance_id FROM tenuto.owners
WHERE instance_id = ANY(:instance_id::text[]) AND process_id = :process_id;

-- fragment: given_jobs
-- The jobs that a statement is about.
unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :attempt::bigint[]
) AS given (instance_id, node, iteration, attempt)

-- fragment: given_leases
-- The leases that a statement is about.
unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :attempt::bigint[], :token::bigint[]
) AS given (instance_id, node, iteration, attempt, token)

-- fragment: is_given_job
-- Whether `job` is the one of a given job or lease.
job.instance_id = given.instance_id AND job.node = given.node
    AND job.iteration = given.iteration AND job.attempt = given.attempt

-- name: leases
-- Part, the gate too: those of these jobs that are leased under these tokens, and stay so.
SELECT held.instance_id, held.node, held.iteration, held.attempt
FROM {given_leases}
CROSS JOIN LATERAL (
    SELECT job.instance_id, job.node, job.iteration, job.attempt FROM tenuto.jobs AS job
    WHERE
        {is_given_job} AND job.token = given.token
    LIMIT 1
    FOR UPDATE
) AS held;

-- name: leases_check
-- Whether all of them are held.
WHEN (SELECT count(*) FROM leases) < cardinality(:instance_id::text[]) THEN tenuto.contended();

-- name: jobs_ended
-- Part, the gate too: withdraw those of these jobs that are leased under these tokens.
DELETE FROM tenuto.jobs AS job
USING {given_leases}
WHERE {is_given_job} AND job.token = given.token
RETURNING job.instance_id;

-- name: jobs_ended_check
-- Whether all of them were deleted.
WHEN (SELECT count(*) FROM jobs_ended) < cardinality(:instance_id::text[]) THEN tenuto.contended();

-- name: keys
-- Part, the gate too: insert idempotency keys of new instances that are unused.
INSERT INTO tenuto.idempotency_keys (tenant, key, instance_id, content_hash)
SELECT wanted.*
FROM unnest(
    :tenant::text[], :key::text[], :instance_id::text[], :content_hash::bytea[]
) AS wanted (tenant, key, instance_id, content_hash)
ON CONFLICT (tenant, key) DO NOTHING
RETURNING instance_id;

-- name: keys_check
-- Whether all of them were new.
WHEN (SELECT count(*) FROM keys) < cardinality(:instance_id::text[]) THEN tenuto.contended();

-- name: still_there
-- Part, the gate too: those of these instances that were not erased, nor are before the turn is over. A
-- log that is being erased, or was since, is still visible to a statement that began before.
SELECT id AS instance_id FROM tenuto.workflow_instances
WHERE id = ANY(:instance_id::text[])
ORDER BY id FOR KEY SHARE;

-- name: still_there_check
-- Whether all of them are there.
WHEN (SELECT count(*) FROM still_there) < cardinality(:instance_id::text[]) THEN tenuto.contended();

-- name: definitions_there
-- Part, the gate too: those of these versions whose definition was not removed, nor is before the turn
-- is over. A removal changes the row, and a statement that waited for it sees the row as it is then.
SELECT there.tenant, there.id, there.version
FROM unnest(:tenant::text[], :id::text[], :version::bigint[]) AS wanted (tenant, id, version)
INNER JOIN tenuto.workflow_definitions AS there
    ON there.tenant = wanted.tenant AND there.id = wanted.id AND there.version = wanted.version
WHERE there.is_removed = 0
ORDER BY there.tenant, there.id, there.version FOR SHARE OF there;

-- name: definitions_there_check
-- Whether all of them are there.
WHEN (SELECT count(*) FROM definitions_there) < cardinality(:id::text[]) THEN tenuto.contended();

-- name: first_rows_of_turn
-- Which of these (instance, seq) carry this turn's id: its winners.
SELECT history.instance_id
FROM unnest(:instance_id::text[], :seq::bigint[]) AS wanted (instance_id, seq)
CROSS JOIN LATERAL (
    SELECT entry.instance_id, entry.turn_id FROM tenuto.workflow_execution_history AS entry
    WHERE entry.instance_id = wanted.instance_id AND entry.seq = wanted.seq
    LIMIT 1
) AS history
WHERE history.turn_id = :turn_id;

-- name: take_back
-- Delete the first entry of a write that did not get its owner or its idempotency key.
DELETE FROM tenuto.workflow_execution_history AS history
USING unnest(:instance_id::text[], :seq::bigint[]) AS taken_back (instance_id, seq)
WHERE history.instance_id = taken_back.instance_id AND history.seq = taken_back.seq;

-- name: used_keys
-- The owners of these idempotency keys: instance and content hash of each.
SELECT used.tenant, used.key, used.instance_id, used.content_hash
FROM unnest(:tenant::text[], :key::text[]) AS wanted (tenant, key)
CROSS JOIN LATERAL (
    SELECT known.* FROM tenuto.idempotency_keys AS known
    WHERE known.tenant = wanted.tenant AND known.key = wanted.key
    LIMIT 1
) AS used;

-- name: instances
-- Part: the rows of new instances.
INSERT INTO tenuto.workflow_instances ({instance_columns}, follows)
SELECT new.*, (SELECT coalesce(max(number), 0) FROM tenuto.events)
FROM unnest(
    :id::text[], :tenant::text[], :definition_id::text[], :definition_version::bigint[],
    :status::text[], :correlation_id::text[], :priority::bigint[], :deadline::bigint[],
    :created_at::bigint[], :updated_at::bigint[], :started_at::bigint[], :completed_at::bigint[],
    :current_steps::text[], :parent_id::text[], :root_id::text[], :rerun_of::text[],
    :origin_id::text[], :output::bytea[], :last_error::bytea[], :cancellation::bytea[]
) AS new
RETURNING id, tenant, created_at, current_steps;

-- name: instances_then
-- Part: current steps of new instances.
INSERT INTO tenuto.workflow_current_steps (instance_id, step_id, tenant, created_at)
SELECT instances.id, step.id, instances.tenant, instances.created_at
FROM instances CROSS JOIN LATERAL jsonb_array_elements_text(instances.current_steps::jsonb) AS step (id)
ON CONFLICT (instance_id, step_id) DO NOTHING;

-- name: updates
-- Part: the columns that lists show, after a change of status or when an instance comes to rest.
UPDATE tenuto.workflow_instances AS instance
SET
    status = changed.status,
    updated_at = changed.updated_at,
    started_at = changed.started_at,
    completed_at = changed.completed_at,
    current_steps = changed.current_steps,
    output = changed.output,
    last_error = changed.last_error,
    cancellation = changed.cancellation
FROM unnest(
    :id::text[], :status::text[], :updated_at::bigint[], :started_at::bigint[],
    :completed_at::bigint[], :current_steps::text[], :output::bytea[], :last_error::bytea[],
    :cancellation::bytea[]
) AS changed (
    id, status, updated_at, started_at, completed_at, current_steps, output, last_error, cancellation
)
WHERE instance.id = changed.id
RETURNING instance.id, instance.tenant, instance.created_at, instance.current_steps;

-- name: updates_then
-- Part: insert new current steps.
INSERT INTO tenuto.workflow_current_steps (instance_id, step_id, tenant, created_at)
SELECT updates.id, step.id, updates.tenant, updates.created_at
FROM updates CROSS JOIN LATERAL jsonb_array_elements_text(updates.current_steps::jsonb) AS step (id)
ON CONFLICT (instance_id, step_id) DO NOTHING;

-- name: updates_then_too
-- Part: delete steps that are no longer current.
DELETE FROM tenuto.workflow_current_steps AS step
USING unnest(:id::text[], :current_steps::text[]) AS changed (id, current_steps)
WHERE step.instance_id = changed.id AND NOT changed.current_steps::jsonb ? step.step_id;

-- name: searchable_dropped
-- Part: delete the values by which instances are found, except those of the names that are kept.
DELETE FROM tenuto.workflow_searchable_values AS found
USING unnest(:instance_id::text[], :kept::text[]) AS changed (instance_id, kept)
WHERE found.instance_id = changed.instance_id AND NOT changed.kept::jsonb ? found.name;

-- name: searchable_put
-- Part: values by which instances are found.
INSERT INTO tenuto.workflow_searchable_values AS found ({searchable_columns})
SELECT changed.*
FROM unnest(
    :instance_id::text[], :name::text[], :tenant::text[], :definition_id::text[],
    :value_text::text[], :created_at::bigint[]
) AS changed ({searchable_columns})
ON CONFLICT (instance_id, name) DO UPDATE SET value_text = excluded.value_text
WHERE found.value_text <> excluded.value_text;

-- name: snapshots_put
-- Part: folds; an older one never replaces a newer one.
INSERT INTO tenuto.workflow_snapshots (instance_id, version, state)
SELECT fold.*
FROM unnest(:instance_id::text[], :version::bigint[], :state::bytea[]) AS fold (
    instance_id, version, state
)
ON CONFLICT (instance_id) DO UPDATE SET version = excluded.version, state = excluded.state
WHERE excluded.version >= workflow_snapshots.version;

-- name: timers_cleared
-- Part: delete timers.
DELETE FROM tenuto.timers AS timer
USING unnest(:instance_id::text[], :kind::text[], :node::text[], :iteration::text[]) AS cleared (
    instance_id, kind, node, iteration
)
WHERE
    timer.instance_id = cleared.instance_id AND timer.kind = cleared.kind
    AND timer.node = cleared.node AND timer.iteration = cleared.iteration;

-- name: timers_set
-- Part: set timers; one of the same key is replaced, and is unclaimed again.
INSERT INTO tenuto.timers (instance_id, kind, node, iteration, due)
SELECT timer.*
FROM unnest(
    :instance_id::text[], :kind::text[], :node::text[], :iteration::text[], :due::bigint[]
) AS timer (instance_id, kind, node, iteration, due)
ON CONFLICT (instance_id, kind, node, iteration) DO UPDATE
SET due = excluded.due, claimed_by = NULL;

-- name: waits_closed
-- Part: close waits, with all their arms except those that the turn opens.
DELETE FROM tenuto.workflow_event_subscriptions AS wait
USING unnest(:instance_id::text[], :node::text[], :iteration::text[], :spared::text[]) AS closed (
    instance_id, node, iteration, spared
)
WHERE
    wait.instance_id = closed.instance_id AND wait.node = closed.node
    AND wait.iteration = closed.iteration
    AND (closed.spared IS NULL OR NOT jsonb_exists(closed.spared::jsonb, wait.arm));

-- name: waits_opened
-- Part: waits, with the number of the newest event that was there before them.
INSERT INTO tenuto.workflow_event_subscriptions ({wait_columns})
SELECT
    wait.instance_id, wait.node, wait.iteration, wait.attempt, wait.tenant, wait.pattern,
    wait.is_wildcard, wait.condition, wait.captures, wait.term_paths, wait.term_values, wait.since,
    wait.opened_at, wait.correlation_id, wait.looked_back,
    (SELECT coalesce(max(number), 0) FROM tenuto.events), wait.arm, wait.position
FROM unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :attempt::bigint[], :tenant::text[],
    :pattern::text[], :is_wildcard::bigint[], :condition::text[], :captures::bytea[],
    :term_paths::text[], :term_values::text[], :since::bigint[], :opened_at::bigint[],
    :correlation_id::text[], :looked_back::bigint[], :arm::text[], :position::bigint[]
) AS wait (
    instance_id, node, iteration, attempt, tenant, pattern, is_wildcard, condition, captures,
    term_paths, term_values, since, opened_at, correlation_id, looked_back, arm, position
)
ON CONFLICT (instance_id, node, iteration, arm) DO UPDATE SET
    {wait_replacement},
    tenant = excluded.tenant,
    correlation_id = excluded.correlation_id,
    looked_back = excluded.looked_back;

-- name: looked_back
-- Part: these waits, as they were opened then, have seen the events that came before them.
UPDATE tenuto.workflow_event_subscriptions AS wait SET looked_back = 1
FROM unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :attempt::bigint[], :spared::text[]
) AS done (instance_id, node, iteration, attempt, spared)
WHERE
    wait.instance_id = done.instance_id AND wait.node = done.node
    AND wait.iteration = done.iteration AND wait.attempt = done.attempt
    AND (done.spared IS NULL OR NOT jsonb_exists(done.spared::jsonb, wait.arm));

-- name: deliveries
-- Part: outcomes of events at waits; only "matched" is replaced. A wait that a retry opened anew may
-- take an event that it had missed.
INSERT INTO tenuto.event_deliveries (
    instance_id, node, iteration, arm, event_id, outcome, reason, tenant
)
SELECT delivery.*
FROM unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :arm::text[], :event_id::text[],
    :outcome::text[], :reason::text[], :tenant::text[]
) AS delivery (instance_id, node, iteration, arm, event_id, outcome, reason, tenant)
ON CONFLICT (instance_id, node, iteration, arm, event_id)
DO UPDATE SET outcome = excluded.outcome, reason = excluded.reason
WHERE
    event_deliveries.outcome = 'matched'
    OR (
        event_deliveries.outcome = 'discarded' AND excluded.outcome IN ('resumed', 'cancelled')
    );

-- name: mail_taken
-- Part: delete mailbox messages that the log of their instance has taken.
DELETE FROM tenuto.mailbox AS mail
USING unnest(:id::text[], :instance_id::text[]) AS taken (id, instance_id)
WHERE mail.id = taken.id AND mail.instance_id = taken.instance_id;

-- fragment: mail_insert
-- Mail for the sender to deliver, or for another process that owns its instance; mail for the owner
-- has no claimer where there is no owner. It is numbered in the order of sending, and inserted sorted,
-- as by every sender: two senders of the same messages never deadlock.
INSERT INTO tenuto.mailbox (number, id, instance_id, input, created_at, claimed_by, is_unseen)
SELECT
    mail.number, mail.id, mail.instance_id, mail.input, mail.created_at,
    CASE WHEN mail.for_owner THEN mail.owner ELSE coalesce(mail.owner, :claimed_by::text) END,
    mail.owner IS NOT NULL AND (mail.for_owner OR mail.owner IS DISTINCT FROM :claimed_by::text)
FROM (
    SELECT
        nextval('tenuto.mailbox_number_seq') AS number,
        sent.*,
        (
            SELECT owner.process_id FROM tenuto.owners AS owner
            WHERE owner.instance_id = sent.instance_id
        ) AS owner
    FROM unnest(
        :id::text[], :instance_id::text[], :input::bytea[], :created_at::bigint[],
        :for_owner::boolean[]
    ) AS sent (id, instance_id, input, created_at, for_owner)
    OFFSET 0
) AS mail
ORDER BY mail.id COLLATE "C", mail.instance_id COLLATE "C"

-- name: mail_sent
-- Part: insert mailbox messages that are not there already.
{mail_insert}
ON CONFLICT (id, instance_id) DO NOTHING;

-- name: mail_exchanged
-- Part: insert mailbox messages of a turn that also takes some of the same keys; those are replaced.
{mail_insert}
ON CONFLICT (id, instance_id) DO UPDATE SET
    number = excluded.number,
    input = excluded.input,
    created_at = excluded.created_at,
    claimed_by = excluded.claimed_by,
    is_unseen = excluded.is_unseen
WHERE (
    SELECT taken.is_taken
    FROM unnest(:id::text[], :instance_id::text[], :is_taken::boolean[]) AS taken (
        id, instance_id, is_taken
    )
    WHERE taken.id = excluded.id AND taken.instance_id = excluded.instance_id
);

-- name: dead_letters_kept
-- Part: insert dead letters.
INSERT INTO tenuto.dead_letters ({dead_letter_columns})
SELECT letter.*
FROM unnest(
    :instance_id::text[], :id::text[], :tenant::text[], :kind::text[], :node::text[],
    :iteration::text[], :attempt::bigint[], :task_id::text[], :input::bytea[], :error::bytea[],
    :output::bytea[], :at::bigint[]
) AS letter ({dead_letter_columns})
ON CONFLICT (instance_id, id) DO NOTHING;

-- name: dead_letters_dropped
-- Part: delete dead letters of nodes that are retried.
DELETE FROM tenuto.dead_letters AS letter
USING unnest(
    :instance_id::text[], :node::text[], :iteration::text[]
) AS again (instance_id, node, iteration)
WHERE
    letter.instance_id = again.instance_id AND letter.node = again.node
    AND letter.iteration = again.iteration AND letter.kind <> 'late-result';

-- name: owners_released
-- Part: release instances.
DELETE FROM tenuto.owners
WHERE instance_id = ANY(:instance_id::text[]) AND process_id = :process_id
RETURNING instance_id;

-- name: events_stored
-- Part: insert events that are new. Turns insert one after the other, so that the order of the numbers
-- is the order of the commits: a wait can then record the newest event when it opened. A known event
-- takes no number. It is looked up by its id alone: a plan that was made while the table was empty
-- would else walk all events of a tenant.
INSERT INTO tenuto.events (
    {event_columns}, turn_id, matched_at, resumed, cancelled, started
)
SELECT event.*
FROM
    (SELECT pg_advisory_xact_lock(hashtextextended('tenuto.events', 0)) OFFSET 0) AS my_turn
CROSS JOIN unnest(
    :tenant::text[], :id::text[], :pattern::text[], :payload::bytea[], :received_at::bigint[],
    :timestamp::bigint[], :correlation_id::text[], :content_hash::bytea[], :chain::bigint[],
    :origin::text[], :turn_id::text[], :matched_at::bigint[], :resumed::bigint[], :cancelled::bigint[],
    :started::bigint[]
) AS event (
    {event_columns}, turn_id, matched_at, resumed, cancelled, started
)
WHERE
    (
        SELECT true FROM tenuto.events AS known
        WHERE known.id = event.id AND known.tenant IS NOT DISTINCT FROM event.tenant
    ) IS NULL
ON CONFLICT (tenant, id) DO NOTHING
RETURNING id, number;

-- name: events_stored_result
-- Which of them were new, and their numbers.
(SELECT array_agg(id) FROM events_stored) AS stored_ids,
(SELECT array_agg(number) FROM events_stored) AS stored_numbers;

-- name: matches
-- Part: record that the matching of these events is done, once for each. Not tested with IS NULL,
-- which would walk the index of unmatched events.
UPDATE tenuto.events AS event
SET
    matched_at = done.matched_at,
    resumed = done.resumed,
    cancelled = done.cancelled,
    started = done.started
FROM unnest(
    :tenant::text[], :id::text[], :matched_at::bigint[], :resumed::bigint[], :cancelled::bigint[],
    :started::bigint[]
) AS done (tenant, id, matched_at, resumed, cancelled, started)
CROSS JOIN LATERAL (
    SELECT stored.number FROM tenuto.events AS stored
    WHERE stored.id = done.id AND stored.tenant IS NOT DISTINCT FROM done.tenant
    LIMIT 1
) AS known
WHERE event.number = known.number AND coalesce(event.matched_at, -1) = -1;

-- name: moment
-- Part: record how far the time of a process has come, when moments are stored.
INSERT INTO tenuto.moments (process_id, lane, seen_at)
SELECT :process_id, seen.lane, seen.seen_at
FROM unnest(:lane::bigint[], :seen_at::bigint[]) AS seen (lane, seen_at)
ON CONFLICT (process_id, lane) DO UPDATE SET seen_at = excluded.seen_at
WHERE moments.seen_at < excluded.seen_at;

-- name: known_events
-- Content hash, number and matching of these events, where they are stored.
SELECT
    event.id, event.content_hash, event.turn_id, event.number, event.matched_at, event.resumed,
    event.cancelled, event.started
FROM unnest(:tenants::text[], :ids::text[]) AS wanted (tenant, id)
CROSS JOIN LATERAL (
    SELECT known.* FROM tenuto.events AS known
    WHERE known.id = wanted.id AND known.tenant IS NOT DISTINCT FROM wanted.tenant
    LIMIT 1
) AS event;

-------------------------------------------------------------------------------------------- instances

-- fragment: columns_of_instance
-- An instance, where other tables have columns of the same names.
instance.id, instance.tenant, instance.definition_id, instance.definition_version,
    instance.status, instance.correlation_id, instance.priority, instance.deadline,
    instance.created_at, instance.updated_at, instance.started_at, instance.completed_at,
    instance.current_steps, instance.parent_id, instance.root_id, instance.rerun_of,
    instance.origin_id, instance.output, instance.last_error, instance.cancellation

-- name: load
-- Instances with their folds, their owners and the entries after their folds, as arrays; where a later
-- entry is known, from that one on and without the fold.
SELECT
    {columns_of_instance},
    owner.process_id, coalesce(owner.is_clean, false),
    CASE WHEN wanted.known = 0 OR fold.version > wanted.known THEN fold.state END,
    coalesce(fold.version, 0), coalesce(octet_length(fold.state), 0),
    tail.seqs, tail.event_types, tail.node_ids, tail.iterations, tail.attempts, tail.node_statuses,
    tail.output_variables, tail.payloads, tail.error_messages, tail.moments,
    job.nodes, job.iterations, job.attempts, job.tokens
FROM unnest(:ids::text[], :known::bigint[]) AS wanted (id, known)
CROSS JOIN LATERAL (
    SELECT * FROM tenuto.workflow_instances AS found WHERE found.id = wanted.id LIMIT 1
) AS instance
LEFT JOIN LATERAL (
    SELECT snapshot.version, snapshot.state FROM tenuto.workflow_snapshots AS snapshot
    WHERE snapshot.instance_id = wanted.id
    LIMIT 1
) AS fold ON true
LEFT JOIN LATERAL (
    SELECT owned.process_id, owned.is_clean FROM tenuto.owners AS owned
    WHERE owned.instance_id = wanted.id
    LIMIT 1
) AS owner ON true
CROSS JOIN LATERAL (
    SELECT
        array_agg(open.node) AS nodes,
        array_agg(open.iteration) AS iterations,
        array_agg(open.attempt) AS attempts,
        array_agg(open.token) AS tokens
    FROM (
        SELECT * FROM tenuto.jobs WHERE jobs.instance_id = wanted.id
        ORDER BY jobs.node, jobs.iteration, jobs.attempt
    ) AS open
) AS job
CROSS JOIN LATERAL (
    SELECT
        array_agg(entry.seq) AS seqs,
        array_agg(entry.event_type) AS event_types,
        array_agg(entry.node_id) AS node_ids,
        array_agg(entry.iteration) AS iterations,
        array_agg(entry.attempt) AS attempts,
        array_agg(entry.node_status) AS node_statuses,
        array_agg(entry.output_variable) AS output_variables,
        array_agg(entry.payload) AS payloads,
        array_agg(entry.error_message) AS error_messages,
        array_agg(entry.at_ms) AS moments
    FROM (
        SELECT * FROM tenuto.workflow_execution_history AS history
        WHERE
            history.instance_id = wanted.id
            AND history.seq > greatest(coalesce(fold.version, 0), wanted.known - 1)
        ORDER BY history.seq
    ) AS entry
) AS tail;

-- name: entries_after
-- A page of the log of one instance.
SELECT {entry_columns} FROM tenuto.workflow_execution_history
WHERE instance_id = :instance_id AND seq > :after
ORDER BY seq LIMIT :limit;

-- name: entries_at
-- Single entries of one instance.
SELECT {entry_columns} FROM tenuto.workflow_execution_history
WHERE instance_id = :instance_id AND seq = ANY(:seqs::bigint[])
ORDER BY seq;

-- name: ended_instances
-- Which of these instances have ended.
SELECT instance.id, instance.completed_at IS NOT NULL
FROM tenuto.workflow_instances AS instance
WHERE instance.id = ANY(:ids::text[]);

-- name: keys_of_instances
-- The idempotency keys of these instances.
SELECT used.instance_id, used.key
FROM tenuto.idempotency_keys AS used
WHERE used.instance_id = ANY(:ids::text[]) AND used.tenant = :tenant;

-- name: newest_seqs
-- How long the logs of these instances are.
SELECT wanted.id, newest.seq
FROM unnest(:ids::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT history.seq FROM tenuto.workflow_execution_history AS history
    WHERE history.instance_id = wanted.id
    ORDER BY history.seq DESC LIMIT 1
) AS newest;

------------------------------------------------------------------------------------------------ lists
-- Positions (created_at, id), newest first, from an index. Which statement is used depends on the
-- narrowest filter; the others are tested on the rows that it finds. The rows follow in the same
-- statement.

-- name: page_of_instances
-- The rows at certain positions.
WITH page (at, id) AS MATERIALIZED (
    /* positions */
)

SELECT {columns_of_instance}
FROM page
CROSS JOIN LATERAL (
    SELECT * FROM tenuto.workflow_instances AS known WHERE known.id = page.id LIMIT 1
) AS instance
ORDER BY page.at DESC, page.id DESC;

-- name: positions_by_status
-- All instances of some statuses.
SELECT found.created_at, found.id
FROM unnest(:statuses::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT i.created_at, i.id FROM tenuto.workflow_instances AS i
    WHERE
        i.tenant = :tenant AND i.status = wanted.status
        AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
    ORDER BY i.created_at DESC, i.id DESC LIMIT :limit
) AS found
ORDER BY found.created_at DESC, found.id DESC LIMIT :limit;

-- name: positions_by_definition
-- Instances of a definition and some statuses.
SELECT found.created_at, found.id
FROM unnest(:statuses::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT i.created_at, i.id FROM tenuto.workflow_instances AS i
    WHERE
        i.tenant = :tenant AND i.definition_id = :definition_id AND i.status = wanted.status
        AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
    ORDER BY i.created_at DESC, i.id DESC LIMIT :limit
) AS found
ORDER BY found.created_at DESC, found.id DESC LIMIT :limit;

-- name: positions_by_correlation
-- Instances of a correlation id.
SELECT i.created_at, i.id FROM tenuto.workflow_instances AS i
WHERE
    i.tenant = :tenant AND i.correlation_id = :correlation_id
    AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
    AND (:definition_id::text IS NULL OR i.definition_id = :definition_id)
    AND i.status = ANY(:statuses::text[])
    AND {family_and_wait_fit}
ORDER BY i.created_at DESC, i.id DESC LIMIT :limit;

-- fragment: family_and_wait_fit
-- Whether instance `i` is a root, a child of the parent, and has an open wait for the pattern.
(NOT :roots::boolean OR i.parent_id IS NULL)
    AND (:parent_id::text IS NULL OR i.parent_id = :parent_id)
    AND (
        :waiting_for::text IS NULL
        OR (
            SELECT true FROM tenuto.workflow_event_subscriptions AS wait
            WHERE wait.instance_id = i.id AND wait.node > '' AND wait.pattern = :waiting_for
            LIMIT 1
        )
    )

-- fragment: instance_fits
-- Whether instance `i` has the correlation id, the definition, one of the statuses, and the rest.
(:correlation_id::text IS NULL OR i.correlation_id = :correlation_id)
    AND (:definition_id::text IS NULL OR i.definition_id = :definition_id)
    AND i.status = ANY(:statuses::text[])
    AND {family_and_wait_fit}

-- name: positions_by_root_status
-- Instances of some statuses that are no children.
SELECT found.created_at, found.id
FROM unnest(:statuses::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT i.created_at, i.id FROM tenuto.workflow_instances AS i
    WHERE
        i.tenant = :tenant AND i.status = wanted.status AND i.parent_id IS NULL
        AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
    ORDER BY i.created_at DESC, i.id DESC LIMIT :limit
) AS found
ORDER BY found.created_at DESC, found.id DESC LIMIT :limit;

-- name: positions_by_root_definition
-- Instances of a definition and some statuses that are no children.
SELECT found.created_at, found.id
FROM unnest(:statuses::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT i.created_at, i.id FROM tenuto.workflow_instances AS i
    WHERE
        i.tenant = :tenant AND i.definition_id = :definition_id AND i.status = wanted.status
        AND i.parent_id IS NULL
        AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
    ORDER BY i.created_at DESC, i.id DESC LIMIT :limit
) AS found
ORDER BY found.created_at DESC, found.id DESC LIMIT :limit;

-- name: positions_by_root
-- All instances that are no children.
SELECT i.created_at, i.id FROM tenuto.workflow_instances AS i
WHERE
    i.tenant = :tenant AND i.parent_id IS NULL
    AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
ORDER BY i.created_at DESC, i.id DESC LIMIT :limit;

-- name: positions_by_parent
-- The children of an instance.
SELECT i.created_at, i.id FROM tenuto.workflow_instances AS i
WHERE
    i.tenant = :tenant AND i.parent_id = :parent_id AND NOT :roots::boolean
    AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
    AND (:definition_id::text IS NULL OR i.definition_id = :definition_id)
    AND i.status = ANY(:statuses::text[])
ORDER BY i.created_at DESC, i.id DESC LIMIT :limit;

-- name: positions_by_wait
-- Instances with an open wait for a pattern.
SELECT DISTINCT i.created_at, i.id
FROM tenuto.workflow_event_subscriptions AS wait
CROSS JOIN LATERAL (
    SELECT * FROM tenuto.workflow_instances AS known WHERE known.id = wait.instance_id LIMIT 1
) AS i
WHERE
    wait.tenant = :tenant AND wait.pattern = :waiting_for AND wait.node > ''
    AND i.tenant = :tenant
    AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
    AND (:definition_id::text IS NULL OR i.definition_id = :definition_id)
    AND i.status = ANY(:statuses::text[])
    AND (NOT :roots::boolean OR i.parent_id IS NULL)
    AND (:parent_id::text IS NULL OR i.parent_id = :parent_id)
ORDER BY i.created_at DESC, i.id DESC LIMIT :limit;

-- name: positions_by_change
-- Instances that changed within a time, in the order of change. The other filters are outside, so that
-- no index for one of them is taken.
SELECT i.updated_at, i.id
FROM (
    SELECT * FROM tenuto.workflow_instances AS known
    WHERE
        known.tenant = :tenant
        AND (known.updated_at, known.id) < (:below_created, :below_id)
        AND known.updated_at >= :from_updated
    ORDER BY known.updated_at DESC, known.id DESC OFFSET 0
) AS i
WHERE
    i.created_at >= :from_created AND i.created_at < :before_created
    AND {instance_fits}
    AND {step_and_terms_fit}
ORDER BY i.updated_at DESC, i.id DESC LIMIT :limit;

-- name: positions_by_step
-- Instances that are at a step.
SELECT i.created_at, i.id
FROM tenuto.workflow_current_steps AS step
CROSS JOIN LATERAL (
    SELECT * FROM tenuto.workflow_instances AS known WHERE known.id = step.instance_id LIMIT 1
) AS i
WHERE
    step.tenant = :tenant AND step.step_id = :step_id
    AND (step.created_at, step.instance_id) < (:below_created, :below_id)
    AND step.created_at >= :from_created
    AND {instance_fits}
ORDER BY step.created_at DESC, step.instance_id DESC LIMIT :limit;

-- name: rarest_term
-- Which of some terms the fewest instances have, by its place among them; counted up to a bound.
SELECT term.place - 1
FROM unnest(:names::text[], :values::text[]) WITH ORDINALITY AS term (name, value_text, place)
CROSS JOIN LATERAL (
    SELECT count(*) AS number
    FROM (
        SELECT 1 FROM tenuto.workflow_searchable_values AS found
        WHERE
            found.tenant = :tenant AND found.definition_id = :definition_id
            AND found.name = term.name AND found.value_text = term.value_text
        LIMIT 1000
    ) AS counted
) AS instances
ORDER BY instances.number, term.place LIMIT 1;

-- fragment: step_and_terms_fit
-- Whether instance `i` is at the step and has all the values.
(
        :step_id::text IS NULL
        OR (
            SELECT true FROM tenuto.workflow_current_steps AS step
            WHERE step.instance_id = i.id AND step.step_id = :step_id
        )
    )
    AND (
        SELECT count(*)
        FROM unnest(:names::text[], :values::text[]) AS term (name, value_text)
        CROSS JOIN LATERAL (
            SELECT 1 FROM tenuto.workflow_searchable_values AS other
            WHERE
                other.instance_id = i.id AND other.name = term.name
                AND other.value_text = term.value_text
            LIMIT 1
        ) AS has
    ) = cardinality(:names::text[])

-- name: positions_by_value
-- Instances of a definition that have a value, and all the others that are asked for.
SELECT i.created_at, i.id
FROM tenuto.workflow_searchable_values AS lead
CROSS JOIN LATERAL (
    SELECT * FROM tenuto.workflow_instances AS known WHERE known.id = lead.instance_id LIMIT 1
) AS i
WHERE
    lead.tenant = :tenant AND lead.definition_id = :definition_id
    AND lead.name = :name AND lead.value_text = :value_text
    AND (lead.created_at, lead.instance_id) < (:below_created, :below_id)
    AND lead.created_at >= :from_created
    AND (:correlation_id::text IS NULL OR i.correlation_id = :correlation_id)
    AND i.status = ANY(:statuses::text[])
    AND {family_and_wait_fit}
    AND {step_and_terms_fit}
ORDER BY lead.created_at DESC, lead.instance_id DESC LIMIT :limit;

-- name: positions_by_id
-- Those of the named instances that fit the other filters.
SELECT i.created_at, i.id
FROM unnest(:ids::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT * FROM tenuto.workflow_instances AS known WHERE known.id = wanted.id LIMIT 1
) AS i
WHERE
    i.tenant = :tenant
    AND (i.created_at, i.id) < (:below_created, :below_id) AND i.created_at >= :from_created
    AND i.updated_at >= :from_updated AND i.updated_at < :before_updated
    AND {instance_fits}
    AND {step_and_terms_fit}
ORDER BY i.created_at DESC, i.id DESC LIMIT :limit;

------------------------------------------------------------------------------------------ definitions

-- name: insert_definition
-- Insert a new version, unless another process was faster with the same number. Its triggers replace
-- those of the version before.
WITH saved AS (
    INSERT INTO tenuto.workflow_definitions (
        tenant, id, version, content, content_hash, created_at
    )
    VALUES (:tenant, :id, :version, :content, :content_hash, :created_at)
    ON CONFLICT (tenant, id, version) DO NOTHING
    RETURNING version
),

gone AS (
    DELETE FROM tenuto.workflow_event_subscriptions AS before
    USING saved
    WHERE
        before.instance_id = '' AND before.node = :id AND before.iteration = :tenant
        AND NOT before.arm = ANY(:arm::text[])
),

replaced AS (
    INSERT INTO tenuto.workflow_event_subscriptions ({wait_columns})
    SELECT
        '', :id, :tenant, saved.version, :tenant, trigger.pattern, trigger.is_wildcard,
        trigger.condition, trigger.captures, trigger.term_paths, trigger.term_values,
        trigger.since, trigger.opened_at, NULL, 1,
        (SELECT coalesce(max(number), 0) FROM tenuto.events), trigger.arm, trigger.position
    FROM saved
    CROSS JOIN unnest(
        :pattern::text[], :is_wildcard::bigint[], :condition::text[], :captures::bytea[],
        :term_paths::text[], :term_values::text[], :since::bigint[], :opened_at::bigint[],
        :arm::text[], :position::bigint[]
    ) AS trigger (
        pattern, is_wildcard, condition, captures, term_paths, term_values, since, opened_at, arm,
        position
    )
    ON CONFLICT (instance_id, node, iteration, arm) DO UPDATE SET
        {wait_replacement}
)

SELECT version FROM saved;

-- name: definition
-- One version.
SELECT tenant, id, version, content, content_hash, created_at FROM tenuto.workflow_definitions
WHERE tenant = :tenant AND id = :id AND version = :version;

-- name: newest_definition
-- The newest version.
SELECT tenant, id, version, content, content_hash, created_at FROM tenuto.workflow_definitions
WHERE tenant = :tenant AND id = :id ORDER BY version DESC LIMIT 1;

-- name: tenants
-- The tenants that have a definition, an event or a listener, each found by one step through an index.
WITH RECURSIVE
defining AS (
    (
        SELECT first.tenant FROM tenuto.workflow_definitions AS first
        WHERE first.tenant > '' ORDER BY first.tenant LIMIT 1
    )
    UNION ALL
    SELECT following.tenant
    FROM defining
    CROSS JOIN LATERAL (
        SELECT next.tenant FROM tenuto.workflow_definitions AS next
        WHERE next.tenant > defining.tenant
        ORDER BY next.tenant LIMIT 1
    ) AS following
),

publishing AS (
    (
        SELECT first.tenant FROM tenuto.events AS first
        WHERE first.tenant > '' ORDER BY first.tenant LIMIT 1
    )
    UNION ALL
    SELECT following.tenant
    FROM publishing
    CROSS JOIN LATERAL (
        SELECT next.tenant FROM tenuto.events AS next
        WHERE next.tenant > publishing.tenant
        ORDER BY next.tenant LIMIT 1
    ) AS following
),

hearing AS (
    (
        SELECT first.tenant FROM tenuto.listeners AS first
        WHERE first.tenant > '' ORDER BY first.tenant LIMIT 1
    )
    UNION ALL
    SELECT following.tenant
    FROM hearing
    CROSS JOIN LATERAL (
        SELECT next.tenant FROM tenuto.listeners AS next
        WHERE next.tenant > hearing.tenant
        ORDER BY next.tenant LIMIT 1
    ) AS following
)

SELECT tenant FROM defining
UNION
SELECT tenant FROM publishing
UNION
SELECT tenant FROM hearing
ORDER BY 1;

-- name: definition_ids
-- Every definition of a tenant once, but removed ones; no document is read.
WITH RECURSIVE walk (id) AS (
    (
        SELECT first.id FROM tenuto.workflow_definitions AS first
        WHERE first.tenant = :tenant ORDER BY first.id LIMIT 1
    )
    UNION ALL
    SELECT next.id
    FROM walk
    CROSS JOIN LATERAL (
        SELECT following.id FROM tenuto.workflow_definitions AS following
        WHERE following.tenant = :tenant AND following.id > walk.id
        ORDER BY following.id LIMIT 1
    ) AS next
)

SELECT walk.id FROM walk
CROSS JOIN LATERAL (
    -- Of values of different length, neither is read.
    SELECT own.content <> 'null' AS is_there FROM tenuto.workflow_definitions AS own
    WHERE own.tenant = :tenant AND own.id = walk.id ORDER BY own.version DESC LIMIT 1
) AS newest
WHERE newest.is_there;

-- name: newest_definitions
-- A page of the definitions of a tenant, each with its newest version, without those of test runs.
WITH RECURSIVE walk (id) AS (
    (
        SELECT first.id FROM tenuto.workflow_definitions AS first
        WHERE
            first.tenant = :tenant AND first.id > :after
            AND (first.id < '~test:' OR first.id >= '~tesu')
        ORDER BY first.id LIMIT 1
    )
    UNION ALL
    SELECT next.id
    FROM walk
    CROSS JOIN LATERAL (
        SELECT following.id FROM tenuto.workflow_definitions AS following
        WHERE
            following.tenant = :tenant AND following.id > walk.id
            AND (following.id < '~test:' OR following.id >= '~tesu')
        ORDER BY following.id LIMIT 1
    ) AS next
)

SELECT
    newest.tenant, newest.id, newest.version, newest.content, newest.content_hash,
    newest.created_at
FROM (SELECT walk.id FROM walk LIMIT :limit) AS wanted
CROSS JOIN LATERAL (
    SELECT * FROM tenuto.workflow_definitions AS own
    WHERE own.tenant = :tenant AND own.id = wanted.id ORDER BY own.version DESC LIMIT 1
) AS newest
ORDER BY newest.id;

------------------------------------------------------------------------------------------------ waits

-- name: wait_terms
-- Distinct terms of a pattern and of all wildcards, by stepping from one to the next in the index:
-- ten thousand waits for the same thing are one step.
WITH RECURSIVE exact (term_paths) AS (
    (
        SELECT first.term_paths FROM tenuto.workflow_event_subscriptions AS first
        WHERE first.tenant = :tenant AND first.pattern = :pattern
        ORDER BY first.term_paths LIMIT 1
    )
    UNION ALL
    SELECT next.term_paths
    FROM exact
    CROSS JOIN LATERAL (
        SELECT following.term_paths FROM tenuto.workflow_event_subscriptions AS following
        WHERE
            following.tenant = :tenant AND following.pattern = :pattern
            AND following.term_paths > exact.term_paths
        ORDER BY following.term_paths LIMIT 1
    ) AS next
),

wild (pattern, term_paths) AS (
    (
        SELECT first.pattern, first.term_paths FROM tenuto.workflow_event_subscriptions AS first
        WHERE first.is_wildcard = 1 AND first.tenant = :tenant
        ORDER BY first.pattern, first.term_paths LIMIT 1
    )
    UNION ALL
    SELECT next.pattern, next.term_paths
    FROM wild
    CROSS JOIN LATERAL (
        SELECT following.pattern, following.term_paths
        FROM tenuto.workflow_event_subscriptions AS following
        WHERE
            following.is_wildcard = 1 AND following.tenant = :tenant
            AND (following.pattern, following.term_paths) > (wild.pattern, wild.term_paths)
        ORDER BY following.pattern, following.term_paths LIMIT 1
    ) AS next
)

SELECT :pattern::text COLLATE "C" AS pattern, exact.term_paths FROM exact
UNION
SELECT wild.pattern, wild.term_paths FROM wild
ORDER BY 1, 2;

-- name: waits_for
-- Open waits under any of these terms, in key order: each term is a range of one index.
SELECT wait.*
FROM unnest(:patterns::text[], :term_paths::text[], :term_values::text[]) AS term (
    pattern, term_paths, term_values
)
CROSS JOIN LATERAL (
    SELECT {wait_columns}
    FROM tenuto.workflow_event_subscriptions AS open
    WHERE
        open.tenant = :tenant AND open.pattern = term.pattern
        AND open.term_paths = term.term_paths AND open.term_values = term.term_values
        AND (open.instance_id, open.node, open.iteration, open.arm)
        > (:after_instance, :after_node, :after_iteration, :after_arm)
    ORDER BY open.instance_id, open.node, open.iteration, open.arm LIMIT :limit
) AS wait
ORDER BY wait.instance_id, wait.node, wait.iteration, wait.arm LIMIT :limit;

-- name: waits_near
-- Some open waits under each of these terms, of any values, in the order of the index.
SELECT wait.*
FROM unnest(:patterns::text[], :term_paths::text[]) WITH ORDINALITY AS term (
    pattern, term_paths, place
)
CROSS JOIN LATERAL (
    SELECT {wait_columns}
    FROM tenuto.workflow_event_subscriptions AS open
    WHERE
        open.tenant = :tenant AND open.pattern = term.pattern
        AND open.term_paths = term.term_paths
    ORDER BY open.term_values, open.instance_id, open.node, open.iteration, open.arm LIMIT :limit
) AS wait
ORDER BY
    term.place, wait.term_values, wait.instance_id, wait.node, wait.iteration, wait.arm;

-- name: waits_of_instance
-- The open waits of one instance.
SELECT {wait_columns} FROM tenuto.workflow_event_subscriptions
WHERE instance_id = :instance_id ORDER BY instance_id, node, iteration, arm;

-- name: unlooked_waits
-- Open waits that have not looked back.
SELECT {wait_columns} FROM tenuto.workflow_event_subscriptions
WHERE looked_back = 0 ORDER BY instance_id, node, iteration, arm LIMIT :limit;

----------------------------------------------------------------------------------------------- events

-- name: deliveries_of_instance
-- The deliveries of events to the waits of one instance.
SELECT event_id, instance_id, node, iteration, outcome, arm, reason, tenant
FROM tenuto.event_deliveries
WHERE instance_id = :instance_id ORDER BY instance_id, node, iteration, arm, event_id;

-- name: deliveries_of_event
-- The deliveries of one event.
SELECT event_id, instance_id, node, iteration, outcome, arm, reason, tenant
FROM tenuto.event_deliveries
WHERE event_id = :event_id AND tenant = :tenant ORDER BY instance_id, node, iteration, arm;

-- fragment: look_back_start
-- Common table expressions: the number of the event after which a look-back starts. That is where the
-- instance started, else a moment.
begun AS MATERIALIZED (
    SELECT
        (
            SELECT instance.follows FROM tenuto.workflow_instances AS instance
            WHERE instance.id = :instance_id AND instance.created_at = :since
        ) AS follows,
        (
            SELECT older.number FROM tenuto.events AS older
            WHERE older.tenant = :tenant AND older.received_at < :long_before
            ORDER BY older.received_at DESC, older.number DESC LIMIT 1
        ) AS older
),

place AS MATERIALIZED (
    SELECT greatest(:after, coalesce(begun.follows, begun.older, 0)) AS after FROM begun
),

-- fragment: look_back_result
-- The events that a wait may take; a row without an event has the last number and the count of the
-- events that were examined.
SELECT number, {event_columns}
FROM looked_at AS event CROSS JOIN begun
WHERE
    (event.received_at >= :received_from OR begun.follows IS NOT NULL)
    AND NOT EXISTS (
        SELECT 1 FROM tenuto.event_deliveries AS taken
        WHERE
            taken.event_id = event.id AND taken.instance_id = :instance_id
            AND taken.outcome = 'resumed'
    )
    AND NOT EXISTS (
        SELECT 1
        FROM unnest(:paths::text[], :texts::text[], :numbers::text[]) AS term (path, text, number)
        CROSS JOIN LATERAL (
            SELECT
                convert_from(event.payload, 'UTF8')::json
                #>> string_to_array(term.path, '.') AS found
        ) AS its
        WHERE
            CASE
                WHEN term.number IS NULL THEN its.found <> term.text
                WHEN its.found ~ '^-?[0-9]{1,250}([.][0-9]{1,250})?([eE][+-]?[0-9]{1,3})?$'
                    THEN abs(its.found::numeric - term.number::numeric)
                        > abs(term.number::numeric) * 1e-9
                ELSE its.found !~ '^-?[0-9]'
            END
    )
UNION ALL
SELECT max(number), NULL, NULL, NULL, NULL, count(*), NULL, NULL, NULL, NULL, NULL FROM looked_at
ORDER BY 1

-- name: past_events_of_pattern
-- A look-back over the events of one pattern, in the order of storing.
WITH {look_back_start}

looked_at AS MATERIALIZED (
    SELECT event.*
    FROM place
    CROSS JOIN LATERAL (
        SELECT * FROM tenuto.events AS stored
        WHERE
            stored.tenant = :tenant AND stored.pattern = :pattern
            AND stored.number > place.after
        ORDER BY stored.number LIMIT :limit
    ) AS event
)

{look_back_result};

-- name: past_events
-- A look-back over the events of all patterns, in the order of storing.
WITH {look_back_start}

looked_at AS MATERIALIZED (
    SELECT event.*
    FROM place
    CROSS JOIN LATERAL (
        SELECT * FROM tenuto.events AS stored
        WHERE
            stored.tenant = :tenant
            AND stored.number > place.after
        ORDER BY stored.number LIMIT :limit
    ) AS event
)

{look_back_result};

-- name: latest_events_of_pattern
-- The inbox of one pattern, newest first, with the counts of their matching.
SELECT number, {event_columns}, matched_at, resumed, cancelled, started FROM (
    SELECT * FROM tenuto.events
    WHERE tenant = :tenant AND pattern = :pattern AND number < :below
    ORDER BY number DESC LIMIT :limit
) AS newest
WHERE received_at >= :since
ORDER BY received_at DESC, number DESC;

-- name: latest_events
-- The inbox of all patterns, newest first, with the counts of their matching.
SELECT number, {event_columns}, matched_at, resumed, cancelled, started FROM tenuto.events
WHERE
    tenant = :tenant AND received_at >= :since
    AND (received_at, number) < (:below_at, :below)
ORDER BY received_at DESC, number DESC LIMIT :limit;

-- name: event
-- One event, with the counts of its matching.
SELECT number, {event_columns}, matched_at, resumed, cancelled, started
FROM tenuto.events WHERE id = :id AND tenant IS NOT DISTINCT FROM :tenant;

-- name: first_past
-- The first event of a pattern that a wait may look back at, for each wait that asks, in order.
SELECT
    (
        SELECT stored.number FROM tenuto.events AS stored
        WHERE
            stored.tenant = asked.tenant AND stored.pattern = asked.pattern
            AND stored.number > coalesce(
                (
                    SELECT instance.follows FROM tenuto.workflow_instances AS instance
                    WHERE instance.id = asked.instance_id AND instance.created_at = asked.since
                ),
                0
            )
        ORDER BY stored.number LIMIT 1
    ) AS number
FROM unnest(
    :tenant::text[], :pattern::text[], :instance_id::text[], :since::bigint[]
) WITH ORDINALITY AS asked (tenant, pattern, instance_id, since, place)
ORDER BY asked.place;

-- name: past_texts
-- The text at a path in the payloads of events of one pattern, in the order of storing.
SELECT
    stored.number,
    CASE
        WHEN octet_length(stored.payload) <= :most
            THEN convert_from(stored.payload, 'UTF8')::json #>> string_to_array(:path, '.')
    END AS found
FROM tenuto.events AS stored
WHERE stored.tenant = :tenant AND stored.pattern = :pattern AND stored.number >= :first
ORDER BY stored.number LIMIT :limit;

-- name: unmatched_events
-- Events whose matching was not recorded, in the order of storing.
SELECT number, {event_columns} FROM tenuto.events
WHERE matched_at IS NULL ORDER BY number LIMIT :limit;

-------------------------------------------------------------------------- timers, mailbox, dead letters

-- name: jobs_offered
-- Part: offer jobs; one that is there already is unchanged.
INSERT INTO tenuto.jobs ({job_columns})
SELECT offered.*
FROM unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :attempt::bigint[],
    :task_id::text[], :offered_at::bigint[], :tenant::text[], :timeout::bigint[],
    :silence::bigint[], :is_called_off::boolean[], :is_limited::boolean[]
) AS offered ({job_columns})
ON CONFLICT (instance_id, node, iteration, attempt) DO NOTHING;

-- name: jobs_withdrawn
-- Part: withdraw jobs.
DELETE FROM tenuto.jobs AS job
USING {given_jobs}
WHERE {is_given_job};

-- name: jobs_called_off
-- Part: cancel jobs, so that no process begins them.
UPDATE tenuto.jobs AS job SET is_called_off = true
FROM {given_jobs}
WHERE {is_given_job};

-- name: claim_jobs
-- Lease unclaimed jobs of these tasks, those that were offered first, without those of tasks with
-- limits; with leases that have lapsed or whose process is gone, whether that process stopped cleanly, and for leases of workers the limits
-- that ended them.
WITH offered AS MATERIALIZED (
    SELECT first.*
    FROM unnest(:task_ids::text[]) AS wanted (task_id)
    CROSS JOIN LATERAL (
        SELECT job.instance_id, job.node, job.iteration, job.attempt, job.offered_at
        FROM tenuto.jobs AS job
        WHERE
            job.leased_by IS NULL AND job.task_id = wanted.task_id
            AND NOT job.is_called_off AND NOT job.is_limited AND NOT :only_own
            AND job.instance_id NOT IN (SELECT unnest(:passed_over::text[]))
        ORDER BY job.offered_at LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS first
),

chosen AS MATERIALIZED (
    SELECT * FROM offered
    ORDER BY offered_at, instance_id, node, iteration, attempt LIMIT :limit
),

leased AS (
    UPDATE tenuto.jobs AS job
    SET
        token = job.token + 1,
        leased_by = :process_id,
        leased_until = tenuto.clock_ms() + :lease
    FROM chosen
    WHERE
        job.instance_id = chosen.instance_id AND job.node = chosen.node
        AND job.iteration = chosen.iteration AND job.attempt = chosen.attempt
    RETURNING
        job.instance_id, job.node, job.iteration, job.attempt, job.token, job.offered_at
),

lapsed AS MATERIALIZED (
    SELECT
        job.instance_id, job.node, job.iteration, job.attempt, job.token, job.leased_until,
        NOT job.is_outside AND coalesce(
            (
                SELECT gone.is_clean FROM tenuto.processes AS gone
                WHERE gone.id = job.leased_by AND gone.stopped_at IS NOT NULL
            ),
            false
        ) AS is_clean,
        job.is_outside, job.overdue_at, job.timeout, job.silence, job.lease, job.details
    FROM tenuto.jobs AS job
    WHERE
        job.leased_by IS NOT NULL
        AND job.instance_id NOT IN (SELECT unnest(:passed_over::text[]))
        AND (
            job.leased_until <= tenuto.clock_ms()
            OR NOT job.is_outside AND (
                SELECT true FROM tenuto.processes AS living
                WHERE living.id = job.leased_by AND living.stopped_at IS NULL
            ) IS NULL
        )
    ORDER BY job.leased_until LIMIT :lapsed
)

SELECT
    NULL::boolean AS is_clean, instance_id, node, iteration, attempt, token, offered_at,
    false AS is_outside, 0 AS overdue_at, 0 AS timeout, 0 AS silence, 0 AS lease, '' AS details
FROM leased
UNION ALL
SELECT
    is_clean, instance_id, node, iteration, attempt, token, leased_until,
    is_outside, overdue_at, timeout, silence, lease, details
FROM lapsed
ORDER BY 7, 2, 3, 4, 5;

-- name: leases_of
-- The leases of this process.
SELECT instance_id, node, iteration, attempt, token FROM tenuto.jobs
WHERE leased_by = :process_id AND NOT is_outside AND leased_until > tenuto.clock_ms()
ORDER BY instance_id, node, iteration, attempt;

-- name: extend_leases
-- Extend leases of this process.
UPDATE tenuto.jobs AS job
SET leased_until = greatest(job.leased_until, tenuto.clock_ms() + :lease)
FROM {given_leases}
WHERE
    {is_given_job} AND job.token = given.token AND coalesce(job.leased_by, '') = :process_id
    AND NOT job.is_outside
RETURNING job.instance_id, job.node, job.iteration, job.attempt, job.token;

-- name: claim_for_worker
-- Lease unclaimed jobs of a tenant to a worker outside, of these tasks or of all that are not pushed,
-- those that were offered first; at most for the time-out of the job and of its heartbeat. All limits
-- rest on one reading of the clock: of two, a lease that ends with the time-out would end before it.
WITH RECURSIVE known AS (
    (
        SELECT job.task_id FROM tenuto.jobs AS job
        WHERE job.leased_by IS NULL AND job.tenant = :tenant AND :any_task
        ORDER BY job.task_id LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT job.task_id FROM tenuto.jobs AS job
        WHERE job.leased_by IS NULL AND job.tenant = :tenant AND job.task_id > known.task_id
        ORDER BY job.task_id LIMIT 1
    )
    FROM known
    WHERE known.task_id IS NOT NULL
),

wanted AS (
    SELECT unnest(:task_ids::text[]) AS task_id
    UNION ALL
    SELECT known.task_id FROM known
    WHERE
        known.task_id IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM tenuto.task_definitions AS task
            WHERE task.tenant = :tenant AND task.id = known.task_id AND task.is_pushed
        )
),

offered AS MATERIALIZED (
    SELECT first.*
    FROM wanted
    CROSS JOIN LATERAL (
        SELECT job.instance_id, job.node, job.iteration, job.attempt, job.offered_at
        FROM tenuto.jobs AS job
        WHERE
            job.leased_by IS NULL AND job.tenant = :tenant AND job.task_id = wanted.task_id
            AND wanted.task_id <> ALL(:but::text[]) AND NOT job.is_called_off AND NOT :only_own
            AND job.instance_id NOT IN (SELECT unnest(:passed_over::text[]))
        ORDER BY job.offered_at LIMIT :limit
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS first
),

chosen AS MATERIALIZED (
    SELECT *, tenuto.clock_ms() AS granted_at FROM offered
    ORDER BY offered_at, instance_id, node, iteration, attempt LIMIT :limit
),

leased AS (
    UPDATE tenuto.jobs AS job
    SET
        token = job.token + 1,
        leased_by = :worker_id,
        is_outside = true,
        lease = :lease::bigint,
        overdue_at = chosen.granted_at + job.timeout,
        details = NULL,
        leased_until = chosen.granted_at + least(:lease::bigint, job.timeout, job.silence)
    FROM chosen
    WHERE
        job.instance_id = chosen.instance_id AND job.node = chosen.node
        AND job.iteration = chosen.iteration AND job.attempt = chosen.attempt
    RETURNING
        job.instance_id, job.node, job.iteration, job.attempt, job.token, job.leased_until,
        job.offered_at
)

SELECT instance_id, node, iteration, attempt, token, leased_until FROM leased
ORDER BY offered_at, instance_id, node, iteration, attempt;

-- name: lock_task_rates
-- Lock tasks with limits, in their order, so that one claim of each is made at a time; how many attempts the
-- rate of each lets begin.
SELECT locked.*
FROM unnest(:tenant::text[], :task_id::text[]) AS given (tenant, task_id)
CROSS JOIN LATERAL (
    SELECT rate.tenant, rate.task_id, rate.tokens, rate.tokens_at FROM tenuto.task_rates AS rate
    WHERE rate.tenant = given.tenant AND rate.task_id = given.task_id
    LIMIT 1
    FOR UPDATE
) AS locked;

-- name: put_task_rates
-- Rows to lock, of tasks that have none.
INSERT INTO tenuto.task_rates (tenant, task_id, tokens_at)
SELECT given.tenant, given.task_id, 0
FROM unnest(:tenant::text[], :task_id::text[]) AS given (tenant, task_id)
ORDER BY given.tenant, given.task_id
ON CONFLICT (tenant, task_id) DO NOTHING;

-- name: held_of_tasks
-- How many jobs of tasks with limits are leased, each counted up to its limit, and the time. A statement of
-- its own: one that waited for a lock would see the jobs as they were before.
SELECT
    (
        SELECT count(*) FROM (
            SELECT 1 FROM tenuto.jobs AS job
            WHERE
                job.leased_by IS NOT NULL AND job.is_limited
                AND job.tenant = given.tenant AND job.task_id = given.task_id
            LIMIT given.most
        ) AS counted
    ),
    tenuto.clock_ms()
FROM
    unnest(:tenant::text[], :task_id::text[], :most::bigint[])
    WITH ORDINALITY AS given (tenant, task_id, most, number)
ORDER BY given.number;

-- name: lease_limited
-- Lease unclaimed jobs of these tasks, of each as many as it has room for, those that were offered first.
WITH offered AS MATERIALIZED (
    SELECT first.*
    FROM
        unnest(:tenant::text[], :task_id::text[], :room::bigint[])
        AS wanted (tenant, task_id, room)
    CROSS JOIN LATERAL (
        SELECT job.instance_id, job.node, job.iteration, job.attempt, job.offered_at
        FROM tenuto.jobs AS job
        WHERE
            job.leased_by IS NULL AND job.tenant = wanted.tenant AND job.task_id = wanted.task_id
            AND NOT job.is_called_off AND NOT :only_own
            AND job.instance_id NOT IN (SELECT unnest(:passed_over::text[]))
        ORDER BY job.offered_at LIMIT wanted.room
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS first
),

chosen AS MATERIALIZED (
    SELECT *, tenuto.clock_ms() AS granted_at FROM offered
    ORDER BY offered_at, instance_id, node, iteration, attempt LIMIT :limit
),

leased AS (
    UPDATE tenuto.jobs AS job
    SET
        token = job.token + 1,
        leased_by = :holder,
        is_limited = true,
        is_outside = :is_outside,
        lease = CASE WHEN :is_outside THEN :lease::bigint ELSE job.lease END,
        overdue_at = CASE WHEN :is_outside THEN chosen.granted_at + job.timeout ELSE job.overdue_at END,
        details = CASE WHEN :is_outside THEN NULL ELSE job.details END,
        leased_until = chosen.granted_at
        + CASE
            WHEN :is_outside THEN least(:lease::bigint, job.timeout, job.silence)
            ELSE :lease::bigint
        END
    FROM chosen
    WHERE
        job.instance_id = chosen.instance_id AND job.node = chosen.node
        AND job.iteration = chosen.iteration AND job.attempt = chosen.attempt
    RETURNING
        job.instance_id, job.node, job.iteration, job.attempt, job.token, job.leased_until,
        job.tenant, job.task_id, job.offered_at
)

SELECT instance_id, node, iteration, attempt, token, leased_until, tenant, task_id FROM leased
ORDER BY offered_at, instance_id, node, iteration, attempt;

-- name: spend_task_rates
-- Note how many attempts the rates of tasks let begin after these.
INSERT INTO tenuto.task_rates (tenant, task_id, tokens, tokens_at)
SELECT given.tenant, given.task_id, given.tokens, :now::bigint
FROM
    unnest(:tenant::text[], :task_id::text[], :tokens::bigint[])
    AS given (tenant, task_id, tokens)
ON CONFLICT (tenant, task_id) DO UPDATE SET tokens = excluded.tokens, tokens_at = excluded.tokens_at;

-- name: mark_limited
-- The unclaimed jobs of a task count for its limits.
UPDATE tenuto.jobs SET is_limited = true
WHERE leased_by IS NULL AND tenant = :tenant AND task_id = :task_id AND NOT is_limited;

-- name: limited_tasks
-- Tasks with limits that have unclaimed jobs.
WITH RECURSIVE known AS (
    (
        SELECT job.tenant, job.task_id FROM tenuto.jobs AS job
        WHERE
            job.leased_by IS NULL AND job.is_limited AND (job.tenant, job.task_id) > ('', '')
        ORDER BY job.tenant, job.task_id LIMIT 1
    )
    UNION ALL
    SELECT next.tenant, next.task_id
    FROM known
    CROSS JOIN LATERAL (
        SELECT job.tenant, job.task_id FROM tenuto.jobs AS job
        WHERE
            job.leased_by IS NULL AND job.is_limited
            AND (job.tenant, job.task_id) > (known.tenant, known.task_id)
        ORDER BY job.tenant, job.task_id LIMIT 1
    ) AS next
)

SELECT tenant, task_id FROM known;

-- name: use_of_task
-- Some of the leased jobs of a task with limits, how many there are, and what its rate let begin.
SELECT
    held.instance_id, held.node, held.iteration, held.attempt, held.leased_by, held.is_outside,
    counted.count, rate.tokens, rate.tokens_at
FROM (
    SELECT count(*) AS count FROM tenuto.jobs AS job
    WHERE
        job.leased_by IS NOT NULL AND job.is_limited
        AND job.tenant = :tenant AND job.task_id = :task_id
) AS counted
LEFT JOIN (
    SELECT job.* FROM tenuto.jobs AS job
    WHERE
        job.leased_by IS NOT NULL AND job.is_limited
        AND job.tenant = :tenant AND job.task_id = :task_id
    LIMIT :most
) AS held ON true
LEFT JOIN tenuto.task_rates AS rate ON rate.tenant = :tenant AND rate.task_id = :task_id;

-- name: extend_for_workers
-- Extend leases of workers that have not lapsed.
UPDATE tenuto.jobs AS job
SET
    leased_until = greatest(
        job.leased_until,
        least(tenuto.clock_ms() + job.lease, tenuto.clock_ms() + job.silence, job.overdue_at)
    ),
    details = coalesce(given.details, job.details)
FROM unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :attempt::bigint[], :token::bigint[],
    :details::text[]
) AS given (instance_id, node, iteration, attempt, token, details)
WHERE
    {is_given_job} AND job.token = given.token AND job.is_outside AND job.leased_until > tenuto.clock_ms()
RETURNING
    job.instance_id, job.node, job.iteration, job.attempt, job.token, job.leased_until,
    job.is_called_off, job.leased_by;

-- name: set_timeouts
-- Change the time-outs of jobs that workers have, each from its claim.
UPDATE tenuto.jobs AS job
SET
    timeout = given.timeout,
    overdue_at = job.overdue_at - job.timeout + given.timeout,
    leased_until = job.overdue_at - job.timeout + least(job.lease, job.silence, given.timeout)
FROM unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :attempt::bigint[], :token::bigint[],
    :timeout::bigint[]
) AS given (instance_id, node, iteration, attempt, token, timeout)
WHERE
    {is_given_job} AND job.token = given.token AND job.is_outside AND job.leased_until > tenuto.clock_ms()
RETURNING job.instance_id, job.node, job.iteration, job.attempt, job.token, job.leased_until;

-- name: put_back_jobs
-- Undo the leases of these jobs, as if no worker had been granted them.
UPDATE tenuto.jobs AS job SET leased_by = NULL, leased_until = NULL, is_outside = false
FROM {given_leases}
WHERE {is_given_job} AND job.token = given.token AND job.is_outside;

-- name: take_called_off
-- Lease to this process those of these jobs that were cancelled and that have no lease.
UPDATE tenuto.jobs AS job
SET
    token = job.token + 1,
    leased_by = :process_id,
    leased_until = tenuto.clock_ms() + :lease
FROM {given_jobs}
WHERE
    {is_given_job}
    AND coalesce(job.leased_by, '') = '' AND job.is_called_off
RETURNING job.instance_id, job.node, job.iteration, job.attempt, job.token;

-- name: next_lapse
-- Milliseconds until the next lease of a worker lapses.
SELECT job.leased_until - tenuto.clock_ms() FROM tenuto.jobs AS job
WHERE job.leased_by IS NOT NULL AND job.is_outside AND job.leased_until > tenuto.clock_ms()
ORDER BY job.leased_until LIMIT 1;

-- fragment: timer_is_free
-- Whether this process may claim `timer`: no other living process has, and its instance is not passed
-- over.
timer.instance_id NOT IN (SELECT unnest(:passed_over::text[]))
    AND (
        NOT :only_own
        OR (
            SELECT true FROM tenuto.owners AS owner
            WHERE owner.instance_id = timer.instance_id AND owner.process_id = :process_id
        )
    )
    AND (
        timer.claimed_by IS NULL
        OR timer.claimed_by = :process_id
        OR (
            SELECT true FROM tenuto.processes AS living
            WHERE living.id = timer.claimed_by AND living.stopped_at IS NULL
        ) IS NULL
    )

-- name: claim_timers
-- Claim timers that are due and that no other living process has claimed; and when the next one is
-- due, without a key.
WITH due AS MATERIALIZED (
    SELECT timer.instance_id, timer.kind, timer.node, timer.iteration, timer.due
    FROM tenuto.timers AS timer
    WHERE
        timer.due <= :now
        AND {timer_is_free}
    ORDER BY timer.due, timer.instance_id, timer.kind, timer.node, timer.iteration
    LIMIT :limit
    FOR NO KEY UPDATE OF timer SKIP LOCKED
),

claimed AS (
    UPDATE tenuto.timers AS timer SET claimed_by = :process_id
    FROM due
    WHERE
        timer.instance_id = due.instance_id AND timer.kind = due.kind
        AND timer.node = due.node AND timer.iteration = due.iteration
        AND timer.claimed_by IS DISTINCT FROM :process_id
),

latest AS MATERIALIZED (
    SELECT due.due, due.instance_id, due.kind, due.node, due.iteration FROM due
    UNION ALL
    SELECT -9223372036854775808, '', '', '', ''
    ORDER BY 1 DESC, 2 DESC, 3 DESC, 4 DESC, 5 DESC LIMIT 1
)

SELECT due.instance_id, due.kind, due.node, due.iteration, due.due FROM due
UNION ALL
SELECT NULL, NULL, NULL, NULL, following.due
FROM latest
CROSS JOIN LATERAL (
    SELECT timer.due FROM tenuto.timers AS timer
    WHERE
        (timer.due, timer.instance_id, timer.kind, timer.node, timer.iteration)
        > (latest.due, latest.instance_id, latest.kind, latest.node, latest.iteration)
        AND {timer_is_free}
    ORDER BY timer.due, timer.instance_id, timer.kind, timer.node, timer.iteration LIMIT 1
) AS following;

-- name: timers_of
-- All timers of these instances.
SELECT instance_id, kind, node, iteration, due FROM tenuto.timers
WHERE instance_id = ANY(:ids::text[])
ORDER BY instance_id, kind, node, iteration;

-- fragment: mail_is_own
-- Whether this process owns the instance of `mail`; null if not.
(
    SELECT true FROM tenuto.owners AS owner
    WHERE owner.instance_id = mail.instance_id AND owner.process_id = :process_id
)

-- fragment: passed_over_mail
-- Single messages that are passed over.
SELECT letter.* FROM unnest(:letter_ids::text[], :letter_instances::text[]) AS letter

-- name: claim_mail
-- Claim mailbox messages, oldest first: unclaimed ones, those that dead processes had, those that were
-- passed on to this process, and on request those that it had before. A message for an instance that
-- another living process owns is passed on, and returned with that owner. A message that is passed
-- over stays unclaimed; if it was passed on to this process, which no longer owns its instance, it is
-- unclaimed again. Each is returned with the tenant of its instance. Messages of other processes are
-- not read: claimers are found one by one, and the messages of each by a range that only one index has.
WITH RECURSIVE claimer (id) AS (
    (
        SELECT mail.claimed_by FROM tenuto.mailbox AS mail
        WHERE mail.claimed_by > ''
        ORDER BY mail.claimed_by LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT mail.claimed_by FROM tenuto.mailbox AS mail
        WHERE mail.claimed_by > claimer.id
        ORDER BY mail.claimed_by LIMIT 1
    )
    FROM claimer WHERE claimer.id IS NOT NULL
),

hand AS MATERIALIZED (
    SELECT claimer.id, kind.is_unseen
    FROM claimer CROSS JOIN (VALUES (true), (false)) AS kind (is_unseen)
    WHERE
        claimer.id IS NOT NULL
        AND (
            (claimer.id = :process_id AND (kind.is_unseen OR :again))
            OR (
                SELECT true FROM tenuto.processes AS living
                WHERE living.id = claimer.id AND living.stopped_at IS NULL
            ) IS NULL
        )
),

nobodys AS MATERIALIZED (
    SELECT mail.number, mail.id, mail.instance_id, mail.input, mail.created_at
    FROM tenuto.mailbox AS mail
    WHERE
        mail.claimed_by IS NULL AND mail.number > :after::bigint
        AND (mail.id, mail.instance_id) NOT IN ({passed_over_mail})
        AND (
            (NOT :only_own AND mail.instance_id NOT IN (SELECT unnest(:passed_over::text[])))
            OR {mail_is_own}
        )
    ORDER BY mail.number LIMIT :limit
    FOR NO KEY UPDATE OF mail SKIP LOCKED
),

in_hand AS MATERIALIZED (
    SELECT first.*
    FROM hand
    CROSS JOIN LATERAL (
        SELECT mail.number, mail.id, mail.instance_id, mail.input, mail.created_at
        FROM tenuto.mailbox AS mail
        WHERE
            mail.claimed_by IS NOT NULL
            AND (mail.claimed_by, mail.is_unseen, mail.number)
            > (hand.id, hand.is_unseen, :after::bigint)
            AND (mail.claimed_by, mail.is_unseen, mail.number)
            <= (hand.id, hand.is_unseen, 9223372036854775807)
            AND (
                (mail.id, mail.instance_id) NOT IN ({passed_over_mail})
                OR {mail_is_own} IS NULL
            )
        ORDER BY mail.claimed_by, mail.is_unseen, mail.number LIMIT :limit
        FOR NO KEY UPDATE OF mail SKIP LOCKED
    ) AS first
),

page AS MATERIALIZED (
    SELECT
        mail.*,
        (
            SELECT owner.process_id FROM tenuto.owners AS owner
            WHERE
                owner.instance_id = mail.instance_id
                AND owner.process_id <> :process_id
                AND (
                    SELECT true FROM tenuto.processes AS living
                    WHERE living.id = owner.process_id AND living.stopped_at IS NULL
                )
        ) AS owner,
        (
            :only_own
            OR mail.instance_id IN (SELECT unnest(:passed_over::text[]))
            OR (mail.id, mail.instance_id) IN ({passed_over_mail})
        )
        AND {mail_is_own} IS NULL AS is_passed_over
    FROM (SELECT * FROM nobodys UNION ALL SELECT * FROM in_hand) AS mail
    ORDER BY mail.number LIMIT :limit
),

claimed AS (
    UPDATE tenuto.mailbox AS mail
    SET claimed_by = heir.id, is_unseen = page.owner IS NOT NULL
    FROM
        page
        CROSS JOIN LATERAL (
            SELECT
                CASE
                    WHEN page.is_passed_over THEN page.owner
                    ELSE coalesce(page.owner, :process_id)
                END AS id
        ) AS heir
    WHERE
        mail.number = page.number
        AND (
            mail.claimed_by IS DISTINCT FROM heir.id
            OR mail.is_unseen <> (page.owner IS NOT NULL)
        )
)

SELECT
    page.id, page.instance_id, page.input, page.created_at, page.number, page.owner,
    page.is_passed_over,
    (
        SELECT instance.tenant FROM tenuto.workflow_instances AS instance
        WHERE instance.id = page.instance_id
    ) AS tenant
FROM page ORDER BY page.number;

-- name: waiting_mail
-- The mailbox messages among these that are there, claimed or not.
SELECT mail.id, mail.instance_id
FROM unnest(:id::text[], :instance_id::text[]) AS wanted (id, instance_id)
CROSS JOIN LATERAL (
    SELECT there.id, there.instance_id FROM tenuto.mailbox AS there
    WHERE there.id = wanted.id AND there.instance_id = wanted.instance_id
    LIMIT 1
) AS mail;

-- name: put_back_mail
-- Make mailbox messages that this process had unclaimed again.
UPDATE tenuto.mailbox AS mail SET claimed_by = NULL, is_unseen = false
FROM unnest(:id::text[], :instance_id::text[]) AS had (id, instance_id)
WHERE
    mail.id = had.id AND mail.instance_id = had.instance_id
    AND coalesce(mail.claimed_by, '') = :process_id;

-- name: dead_letters
-- Dead letters of a tenant, newest first.
SELECT {dead_letter_columns} FROM tenuto.dead_letters AS letter
WHERE
    tenant = :tenant AND (at, id, instance_id) < (:below_at, :below_id, :below_instance)
    AND (at, id, instance_id) >= (:last_at, :last_id, :last_instance)
    AND (:kind::text IS NULL OR kind = :kind)
    AND (:task_id::text IS NULL OR task_id = :task_id)
    AND (
        :code_start::bytea IS NULL
        OR substr(error, 1, length(:code_start::bytea)) = :code_start
    )
    AND (
        :definition_id::text IS NULL OR EXISTS (
            SELECT 1 FROM tenuto.workflow_instances AS instance
            WHERE instance.id = letter.instance_id AND instance.definition_id = :definition_id
        )
    )
ORDER BY at DESC, id DESC, instance_id DESC LIMIT :limit;

-- name: place_of_dead_letter
-- The place of the dead letter after so many others, newest first: of the index alone.
SELECT at, id, instance_id FROM tenuto.dead_letters
WHERE tenant = :tenant AND (at, id, instance_id) < (:below_at, :below_id, :below_instance)
ORDER BY at DESC, id DESC, instance_id DESC LIMIT 1 OFFSET :passed;

-- name: dead_letter
-- One dead letter of a tenant.
SELECT {dead_letter_columns} FROM tenuto.dead_letters
WHERE instance_id = :instance_id AND id = :id AND tenant = :tenant;

-- name: delete_dead_letter
-- Delete a dead letter.
DELETE FROM tenuto.dead_letters
WHERE instance_id = :instance_id AND id = :id AND tenant = :tenant RETURNING 1;

----------------------------------------------------------------------------------- owners and processes

-- name: latest_moment
-- The latest moment that a process has recorded, without those of wrong clocks.
SELECT max(seen_at) FROM tenuto.moments WHERE seen_at <= :not_after;

-- name: insert_process
-- Record a process that has opened the store; no row when its id was used before. When it started is
-- for operators: no statement depends on it.
INSERT INTO tenuto.processes (id, started_at, beat_at, steady_since, is_guest, program)
SELECT :process_id, clock.now_ms, clock.now_ms, clock.now_ms, :is_guest, :program
FROM (SELECT tenuto.clock_ms() AS now_ms OFFSET 0) AS clock
ON CONFLICT (id) DO NOTHING
RETURNING id;

-- name: processes_behind
-- The processes that may still decide by older limits and rules; guests decide nothing.
SELECT id FROM tenuto.processes
WHERE stopped_at IS NULL AND NOT is_guest AND limits_known < :changes ORDER BY id;

-- name: older_programs
-- Living processes of programs older than this one; 0: of one that does not say. Columns that the
-- schema has not yet are read as null.
SELECT process.id, coalesce((to_jsonb(process) ->> 'program')::bigint, 0)
FROM tenuto.processes AS process
WHERE
    process.stopped_at IS NULL
    AND process.beat_at >= tenuto.clock_ms() - :dead_after
    AND NOT coalesce((to_jsonb(process) ->> 'is_guest')::boolean, false)
    AND coalesce((to_jsonb(process) ->> 'program')::bigint, 0) < :oldest
ORDER BY process.id;

-- name: lock_processes
-- Let no process enter until this transaction has ended.
LOCK TABLE tenuto.processes IN SHARE ROW EXCLUSIVE MODE;

-- name: workers
-- How many processes take mailbox messages and have a recent heartbeat.
SELECT count(*) FROM tenuto.processes
WHERE stopped_at IS NULL AND NOT is_guest AND beat_at >= tenuto.clock_ms() - :dead_after;

-- name: living_processes
-- Those of these processes that have a recent heartbeat.
SELECT id FROM tenuto.processes
WHERE
    id = ANY(:ids::text[]) AND stopped_at IS NULL
    AND beat_at >= tenuto.clock_ms() - :dead_after;

-- name: see_moment
-- Record how far the time of a process has come.
INSERT INTO tenuto.moments (process_id, lane, seen_at) VALUES (:process_id, 0, :seen_at)
ON CONFLICT (process_id, lane) DO UPDATE SET seen_at = excluded.seen_at
WHERE moments.seen_at < excluded.seen_at;

-- name: forget_processes
-- Delete processes that own nothing, have left no job begun, and stopped a day ago, or cleanly and
-- longer ago than any statement of theirs can last. Every heartbeat reads the rows that are here.
DELETE FROM tenuto.processes AS process
WHERE
    process.stopped_at
    < tenuto.clock_ms() - CASE WHEN process.is_clean THEN 120000 ELSE 86400000 END
    AND (
        SELECT true FROM tenuto.owners AS owner WHERE owner.process_id = process.id LIMIT 1
    ) IS NULL
    AND (SELECT true FROM tenuto.jobs AS job WHERE job.leased_by = process.id LIMIT 1) IS NULL;

-- name: forget_moments
-- Delete the moments of processes that are deleted, except the latest one of all whose clocks are not
-- wrong.
WITH farthest AS MATERIALIZED (
    SELECT moment.process_id, moment.lane FROM tenuto.moments AS moment
    WHERE moment.seen_at <= tenuto.clock_ms() + 86400000
    ORDER BY moment.seen_at DESC, moment.process_id DESC, moment.lane DESC LIMIT 1
)

DELETE FROM tenuto.moments AS moment
WHERE
    (SELECT true FROM tenuto.processes AS known WHERE known.id = moment.process_id) IS NULL
    AND (
        SELECT true FROM farthest
        WHERE farthest.process_id = moment.process_id AND farthest.lane = moment.lane
    ) IS NULL;

-- name: stop_process
-- Record that a process has stopped.
UPDATE tenuto.processes SET stopped_at = tenuto.clock_ms(), is_clean = :is_clean
WHERE id = :process_id AND stopped_at IS NULL;

-- name: beat
-- Record a heartbeat; and whether a process is gone and has left instances that are not passed over,
-- or has been silent for too long; and a number that changes with each process that stops; and the
-- versions of all declared tasks and of all calendars. No row when the process itself was declared dead.
WITH clock AS MATERIALIZED (SELECT tenuto.clock_ms() AS now_ms),

beat AS (
    UPDATE tenuto.processes AS process
    SET
        beat_at = clock.now_ms,
        steady_since = CASE
            WHEN clock.now_ms - process.beat_at > :longest_gap THEN clock.now_ms
            ELSE process.steady_since
        END
    FROM clock
    WHERE process.id = :process_id AND process.stopped_at IS NULL
    RETURNING process.beat_at, process.steady_since
)

SELECT
    beat.beat_at,
    EXISTS (
        SELECT 1 FROM tenuto.processes AS gone
        WHERE
            gone.stopped_at IS NOT NULL
            AND NOT :only_own
            AND (
                SELECT true FROM tenuto.owners AS owner
                WHERE
                    owner.process_id = gone.id
                    AND owner.instance_id NOT IN (SELECT unnest(:passed_over::text[]))
                LIMIT 1
            )
    )
    OR (
        beat.beat_at - beat.steady_since >= :dead_after
        AND EXISTS (
            SELECT 1 FROM tenuto.processes AS silent
            WHERE silent.stopped_at IS NULL AND silent.beat_at < beat.beat_at - :dead_after
        )
    ) AS has_orphans,
    (SELECT coalesce(sum(ended.stopped_at), 0)::bigint FROM tenuto.processes AS ended) AS stops,
    declared.number, declared.versions, declared.newest, saved.number, saved.versions
FROM beat CROSS JOIN (
    SELECT
        count(*) AS number,
        coalesce(sum(version), 0)::bigint AS versions,
        coalesce(max(updated_at), 0) AS newest
    FROM tenuto.task_definitions
) AS declared CROSS JOIN (
    SELECT count(*) AS number, coalesce(sum(version), 0)::bigint AS versions
    FROM tenuto.calendars WHERE is_newest = 1
) AS saved;

-- name: bury_processes
-- Declare processes dead that have been silent for too long and have no turn under way. Only a process
-- with heartbeats without a gap for as long may do so: after an outage of the server all of them are
-- silent. Whether the process itself is alive.
WITH me AS MATERIALIZED (
    SELECT process.id, process.beat_at, process.steady_since, tenuto.clock_ms() AS now_ms
    FROM tenuto.processes AS process
    WHERE process.id = :process_id AND process.stopped_at IS NULL
    FOR KEY SHARE
),

silent AS MATERIALIZED (
    SELECT process.id
    FROM tenuto.processes AS process CROSS JOIN me
    WHERE
        process.id <> me.id
        AND process.stopped_at IS NULL
        AND process.beat_at < me.now_ms - :dead_after
        AND me.now_ms - me.beat_at <= :longest_gap
        AND me.now_ms - me.steady_since >= :dead_after
    ORDER BY process.id
    FOR UPDATE OF process SKIP LOCKED
),

buried AS (
    UPDATE tenuto.processes AS process SET stopped_at = tenuto.clock_ms()
    FROM silent WHERE process.id = silent.id
    RETURNING process.id
)

SELECT me.id, (SELECT array_agg(buried.id) FROM buried) FROM me;

-- name: lock_claims
-- Wait for a claim of this process that is still under way.
SELECT 1 FROM tenuto.processes WHERE id = :process_id FOR NO KEY UPDATE;

-- name: claimed_before
-- The instances of a claim whose answer was lost.
SELECT instance_id, is_clean FROM tenuto.owners
WHERE process_id = :process_id AND claim = :claim
ORDER BY instance_id;

-- name: claim_instances
-- Take over instances of processes that are gone, one claim of this process after the other.
WITH me AS MATERIALIZED (
    SELECT process.id FROM tenuto.processes AS process
    WHERE process.id = :process_id AND process.stopped_at IS NULL
    FOR NO KEY UPDATE
),

orphan AS MATERIALIZED (
    SELECT left_behind.instance_id, gone.id AS process_id, gone.is_clean
    FROM me
    CROSS JOIN tenuto.processes AS gone
    CROSS JOIN LATERAL (
        SELECT owner.instance_id FROM tenuto.owners AS owner
        WHERE
            owner.process_id = gone.id
            AND owner.instance_id NOT IN (SELECT unnest(:passed_over::text[]))
        ORDER BY owner.instance_id LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ) AS left_behind
    WHERE gone.stopped_at IS NOT NULL AND NOT :only_own
    ORDER BY gone.id, left_behind.instance_id LIMIT :limit
),

claimed AS (
    UPDATE tenuto.owners AS owner
    SET
        process_id = :process_id,
        epoch = owner.epoch + 1,
        claim = :claim,
        is_clean = orphan.is_clean
    FROM orphan
    WHERE owner.instance_id = orphan.instance_id AND owner.process_id = orphan.process_id
    RETURNING owner.instance_id, orphan.is_clean, orphan.process_id
)

SELECT claimed.instance_id, claimed.is_clean FROM claimed
ORDER BY claimed.process_id, claimed.instance_id;

-- name: give_back
-- Release what a process cannot read: its instances as if they belonged to a process that is gone,
-- whose row is inserted, or kept for another day, in the same statement. The count of what was
-- released.
WITH unread AS MATERIALIZED (
    SELECT
        mine.instance_id,
        CASE WHEN left_behind.is_clean THEN 'given-back-clean' ELSE 'given-back' END AS process_id,
        left_behind.is_clean
    FROM unnest(:instance_id::text[], :is_clean::boolean[]) AS given (instance_id, is_clean)
    CROSS JOIN LATERAL (
        SELECT owner.instance_id, coalesce(owner.is_clean, false) AS is_clean
        FROM tenuto.owners AS owner
        WHERE owner.instance_id = given.instance_id AND owner.process_id = :process_id
        LIMIT 1
        FOR UPDATE
    ) AS mine
    CROSS JOIN LATERAL (SELECT given.is_clean OR mine.is_clean AS is_clean) AS left_behind
),

gone AS (
    INSERT INTO tenuto.processes (id, started_at, beat_at, steady_since, stopped_at, is_clean)
    SELECT DISTINCT
        unread.process_id, clock.now_ms, clock.now_ms, clock.now_ms, clock.now_ms, unread.is_clean
    FROM unread CROSS JOIN (SELECT tenuto.clock_ms() AS now_ms OFFSET 0) AS clock
    ORDER BY 1
    ON CONFLICT (id) DO UPDATE SET stopped_at = excluded.stopped_at
),

orphaned AS (
    UPDATE tenuto.owners AS owner
    SET process_id = unread.process_id, claim = NULL, is_clean = NULL
    FROM unread
    WHERE owner.instance_id = unread.instance_id
    RETURNING 1
),

timers AS (
    UPDATE tenuto.timers AS timer SET claimed_by = NULL
    WHERE timer.instance_id = ANY(:instance_id::text[]) AND timer.claimed_by = :process_id
    RETURNING 1
),

letters AS (
    UPDATE tenuto.mailbox AS mail SET claimed_by = NULL, is_unseen = false
    FROM unnest(:mail_id::text[], :mail_instance_id::text[]) AS had (id, instance_id)
    WHERE
        mail.id = had.id AND mail.instance_id = had.instance_id
        AND coalesce(mail.claimed_by, '') = :process_id
    RETURNING 1
),

jobs AS (
    UPDATE tenuto.jobs AS job SET leased_by = NULL, leased_until = NULL
    FROM unnest(
        :job_instance_id::text[], :job_node::text[], :job_iteration::text[], :job_attempt::bigint[],
        :job_token::bigint[]
    ) AS given (instance_id, node, iteration, attempt, token)
    WHERE
        {is_given_job} AND job.token = given.token AND coalesce(job.leased_by, '') = :process_id
        AND NOT job.is_outside
    RETURNING 1
)

SELECT
    (SELECT count(*) FROM orphaned) + (SELECT count(*) FROM timers)
    + (SELECT count(*) FROM letters) + (SELECT count(*) FROM jobs);

-- name: notify
-- Notify other processes; outside of any turn, because commits that notify go one after the other.
SELECT pg_notify(:channel, :payload);

-- name: knows_process
-- Whether a process has opened this store.
SELECT 1 FROM tenuto.processes WHERE id = :process_id;

-- name: ping
-- Whether a connection is open.
SELECT 1;

------------------------------------------------------------------------------------------------ schema

-- name: server
-- The server at the other end of a connection.
SELECT
    pg_backend_pid(),
    current_setting('server_version_num')::integer,
    current_setting('server_encoding'),
    current_database(),
    current_user;

-- name: lock_schema
-- Lock the schema: one process migrates at a time; the others wait, and find it done.
SELECT pg_advisory_xact_lock(hashtextextended('tenuto.schema_info', 0));

-- name: has_schema
-- Whether the schema exists.
SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = :schema;

-- name: create_schema
-- Create the schema.
CREATE SCHEMA tenuto;

-- name: catalogue
-- The objects of the schema: kind, table, name and detail, such as the type of a column or that an
-- index is invalid. A unique index is a key, and is named by its columns.
WITH relations AS MATERIALIZED (
    SELECT class.oid, class.relname::text AS name, class.relkind AS kind
    FROM pg_catalog.pg_class AS class
    INNER JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
    WHERE namespace.nspname = :schema
),

indexes AS MATERIALIZED (
    SELECT
        relation.oid AS of_table,
        relation.name AS table_name,
        named.relname::text AS name,
        index.indkey,
        index.indnkeyatts,
        index.indisprimary,
        index.indisvalid,
        index.indisunique AND index.indimmediate
        AND index.indpred IS NULL AND index.indexprs IS NULL AS is_key
    FROM relations AS relation
    INNER JOIN pg_catalog.pg_index AS index ON index.indrelid = relation.oid
    INNER JOIN pg_catalog.pg_class AS named ON named.oid = index.indexrelid
)

SELECT
    CASE kind WHEN 'S' THEN 'sequence' WHEN 'c' THEN 'type' ELSE 'table' END,
    CASE WHEN kind IN ('S', 'c') THEN '-' ELSE name END,
    name,
    CASE
        WHEN EXISTS (
            SELECT 1 FROM pg_catalog.pg_depend AS member
            WHERE
                member.classid = 'pg_catalog.pg_class'::regclass AND member.objid = relations.oid
                AND member.objsubid = 0 AND member.deptype = 'e'
        ) THEN 'of an extension'
        ELSE ''
    END
FROM relations
WHERE kind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c')
UNION ALL
SELECT
    'column',
    relation.name,
    attribute.attname::text,
    pg_catalog.format_type(attribute.atttypid, attribute.atttypmod)
    || CASE WHEN attribute.attidentity = '' THEN '' ELSE ' identity' END
FROM relations AS relation
INNER JOIN pg_catalog.pg_attribute AS attribute ON attribute.attrelid = relation.oid
WHERE relation.kind IN ('r', 'p', 'v') AND attribute.attnum > 0 AND NOT attribute.attisdropped
UNION ALL
SELECT 'index', table_name, name, CASE WHEN indisvalid THEN '' ELSE 'invalid' END
FROM indexes
WHERE NOT is_key
UNION ALL
SELECT
    'key',
    table_name,
    (
        SELECT string_agg(attribute.attname::text, ',' ORDER BY part.place)
        FROM unnest(indkey::smallint[]) WITH ORDINALITY AS part (attribute, place)
        INNER JOIN pg_catalog.pg_attribute AS attribute
            ON attribute.attrelid = of_table AND attribute.attnum = part.attribute
        WHERE part.place <= indnkeyatts
    ),
    CASE WHEN indisprimary THEN 'primary' ELSE 'unique' END
FROM indexes
WHERE is_key AND indisvalid
UNION ALL
SELECT
    'trigger',
    relation.name,
    trigger.tgname::text,
    CASE WHEN trigger.tgenabled IN ('O', 'A') THEN '' ELSE 'switched off' END
FROM relations AS relation
INNER JOIN pg_catalog.pg_trigger AS trigger ON trigger.tgrelid = relation.oid
WHERE NOT trigger.tgisinternal
UNION ALL
SELECT 'function', '-', routine.proname::text, ''
FROM pg_catalog.pg_proc AS routine
INNER JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = routine.pronamespace
WHERE namespace.nspname = :schema
UNION ALL
SELECT 'type', '-', type.typname::text, ''
FROM pg_catalog.pg_type AS type
INNER JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = type.typnamespace
WHERE namespace.nspname = :schema AND type.typrelid = 0 AND type.typcategory <> 'A';

-- name: roles
-- The owner of the tables, else of the schema; the current user, and whether that has the owner's
-- rights.
SELECT
    pg_catalog.pg_get_userbyid(owner.id)::text,
    current_user::text,
    pg_catalog.pg_has_role(owner.id, 'USAGE')
FROM pg_catalog.pg_namespace AS namespace
LEFT JOIN pg_catalog.pg_class AS info
    ON info.relnamespace = namespace.oid AND info.relname = 'schema_info'
CROSS JOIN LATERAL (SELECT coalesce(info.relowner, namespace.nspowner) AS id) AS owner
WHERE namespace.nspname = :schema;

-- name: wall
-- The role that reads for a tenant, by the policies, else by its name; whether the role exists,
-- whether row-level security covers every table that has to be covered, and whether it applies to the
-- role at all; whether this user may act as the role, and whether this user, who has to see all rows,
-- is restricted as the role is; and whether the server distinguishes acting as a role from inheriting
-- it.
WITH guarded AS MATERIALIZED (
    SELECT class.oid, class.relowner, class.relrowsecurity
    FROM pg_catalog.pg_class AS class
    INNER JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = class.relnamespace
    WHERE
        namespace.nspname = :schema AND class.relkind = 'r'
        AND (
            class.relname IN ('workflow_execution_history', 'webhook_deliveries')
            OR EXISTS (
                SELECT 1 FROM pg_catalog.pg_attribute AS attribute
                WHERE
                    attribute.attrelid = class.oid AND attribute.attname = 'tenant'
                    AND attribute.attnum > 0 AND NOT attribute.attisdropped
            )
        )
),

reader AS MATERIALIZED (
    SELECT role.oid, role.rolname, role.rolsuper, role.rolbypassrls
    FROM pg_catalog.pg_roles AS role
    WHERE role.oid IN (
        SELECT unnest(policy.polroles) FROM pg_catalog.pg_policy AS policy
        WHERE
            policy.polrelid IN (SELECT guarded.oid FROM guarded)
            AND policy.polname = 'rows_of_the_tenant'
    )
    ORDER BY role.oid LIMIT 1
)

SELECT
    coalesce(reader.rolname, tenuto.reader_name())::text,
    reader.oid IS NOT NULL
    OR EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = tenuto.reader_name()),
    reader.oid IS NOT NULL AND (
        SELECT
            bool_and(
                guarded.relrowsecurity
                AND has_table_privilege(reader.oid, guarded.oid, 'SELECT')
                AND EXISTS (
                    SELECT 1 FROM pg_catalog.pg_policy AS policy
                    WHERE
                        policy.polrelid = guarded.oid AND policy.polname = 'rows_of_the_tenant'
                        AND NOT policy.polpermissive AND policy.polroles = ARRAY[reader.oid]
                )
            )
        FROM guarded
    ),
    reader.oid IS NOT NULL AND NOT (
        reader.rolsuper OR reader.rolbypassrls
        OR EXISTS (
            SELECT 1 FROM guarded WHERE pg_has_role(reader.oid, guarded.relowner, 'USAGE')
        )
    ),
    reader.oid IS NOT NULL AND pg_has_role(
        reader.oid,
        CASE
            WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET'
            ELSE 'MEMBER'
        END
    ),
    reader.oid IS NOT NULL AND pg_has_role(reader.oid, 'USAGE')
    AND EXISTS (SELECT 1 FROM guarded WHERE row_security_active(guarded.oid)),
    current_setting('server_version_num')::integer >= 160000
FROM (SELECT 1) AS one
LEFT JOIN reader ON true;

-- name: read_for
-- Act, from now on, as the role that sees the rows of one tenant only.
SELECT set_config('role', :reader, false), set_config('tenuto_reader.tenant', :tenant, false);

-- name: read_for_once
-- The same until the transaction ends, on a connection that keeps no settings.
SELECT set_config('role', :reader, true), set_config('tenuto_reader.tenant', :tenant, true);

-- name: lock_patience
-- How long each statement of this transaction waits for others.
SELECT set_config('lock_timeout', :patience, true);

-- name: blockers
-- The sessions that hold the locks that a session waits for; a prepared transaction has no session,
-- but a name.
SELECT
    blocking.pid,
    coalesce(activity.usename::text, prepared.owner::text),
    activity.application_name,
    activity.state,
    coalesce(activity.xact_start, prepared.prepared) AS since,
    prepared.gid
FROM (SELECT DISTINCT pid FROM unnest(pg_catalog.pg_blocking_pids(:pid)) AS holder (pid)) AS blocking
LEFT JOIN pg_catalog.pg_stat_activity AS activity ON activity.pid = blocking.pid
LEFT JOIN (
    SELECT DISTINCT xact.gid, xact.owner, xact.prepared
    FROM pg_catalog.pg_locks AS waiting
    INNER JOIN pg_catalog.pg_locks AS held
        ON
            held.granted AND held.pid IS NULL
            AND held.locktype = waiting.locktype
            AND held.database IS NOT DISTINCT FROM waiting.database
            AND held.relation IS NOT DISTINCT FROM waiting.relation
            AND held.transactionid IS NOT DISTINCT FROM waiting.transactionid
            AND held.classid IS NOT DISTINCT FROM waiting.classid
            AND held.objid IS NOT DISTINCT FROM waiting.objid
    -- Each transaction locks its own id too, with the same virtual id.
    INNER JOIN pg_catalog.pg_locks AS itself
        ON
            itself.granted AND itself.pid IS NULL AND itself.locktype = 'transactionid'
            AND itself.virtualtransaction = held.virtualtransaction
    INNER JOIN pg_catalog.pg_prepared_xacts AS xact ON xact.transaction = itself.transactionid
    WHERE waiting.pid = :pid AND NOT waiting.granted
) AS prepared ON blocking.pid = 0
ORDER BY since, blocking.pid;

-- name: schema_info
-- The newest migration that has run, and the oldest program that may use its schema.
SELECT version, oldest_program FROM tenuto.schema_info;

-- name: put_schema_info
-- Record the newest migration.
INSERT INTO tenuto.schema_info (only_row, version, oldest_program)
VALUES (1, :version, :oldest_program)
ON CONFLICT (only_row) DO UPDATE
SET version = excluded.version, oldest_program = excluded.oldest_program;

-- name: settings_in_force
-- The settings that a benchmark prints beside its figures.
SELECT name, setting FROM pg_catalog.pg_settings
WHERE
    name IN (
        'server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers',
        'max_connections', 'wal_sync_method'
    )
ORDER BY name;

------------------------------------------------------------------------------------------------ outbox

-- name: outbox_written
-- Part: ranges of logs, where there is a listener for their events.
INSERT INTO tenuto.outbox (tenant, share, instance_id, first_seq, last_seq, status)
SELECT told.tenant, told.share, told.instance_id, told.first_seq, told.last_seq, told.status
FROM unnest(
    :tenant::text[], :share::bigint[], :instance_id::text[], :first_seq::bigint[],
    :last_seq::bigint[], :status::text[], :level::bigint[]
) AS told (tenant, share, instance_id, first_seq, last_seq, status, level)
WHERE
    (
        SELECT true FROM tenuto.listeners AS listener
        WHERE listener.tenant = told.tenant AND listener.level >= told.level
        LIMIT 1
    );

-- name: events_stored_then
-- Part: those of them that have a listener outside and are not Tenuto's own. Their numbers are looked
-- up in one value: a join with the stored events would be a nested loop.
INSERT INTO tenuto.outbox (
    tenant, share, instance_id, first_seq, last_seq, status, event_number
)
SELECT
    event.tenant, event.share, event.stream, 0, 0, '', (stored.numbers ->> event.id)::bigint
FROM (SELECT jsonb_object_agg(id, number) AS numbers FROM events_stored) AS stored
CROSS JOIN unnest(
    :tenant::text[], :id::text[], :pattern::text[], :stream::text[], :share::bigint[]
) AS event (tenant, id, pattern, stream, share)
WHERE
    event.pattern NOT LIKE 'workflow.%'
    AND jsonb_exists(stored.numbers, event.id)
    AND (
        SELECT true FROM tenuto.listeners AS listener
        WHERE listener.tenant = event.tenant AND listener.hears_inbox = 1
        LIMIT 1
    );

-- name: put_listener
-- Insert a listener, or replace the one of the same kind and id.
INSERT INTO tenuto.listeners ({listener_columns})
VALUES (
    :tenant, :kind, :id, :patterns, :level, :hears_inbox, :settings, :health, :created_at,
    :expires_at
)
ON CONFLICT (tenant, kind, id) DO UPDATE SET
    patterns = excluded.patterns, level = excluded.level, hears_inbox = excluded.hears_inbox,
    settings = excluded.settings, health = excluded.health, created_at = excluded.created_at,
    expires_at = excluded.expires_at;

-- name: delete_listener
-- Delete a listener.
DELETE FROM tenuto.listeners WHERE tenant = :tenant AND kind = :kind AND id = :id RETURNING 1;

-- name: delete_postings_of
-- Delete all deliveries to a listener.
DELETE FROM tenuto.webhook_deliveries WHERE listener_id = :listener_id;

-- name: listeners
-- The listeners of a tenant, oldest first.
SELECT {listener_columns} FROM tenuto.listeners WHERE tenant = :tenant ORDER BY created_at, id;

-- name: all_listeners
-- The listeners of all tenants, oldest first.
SELECT {listener_columns} FROM tenuto.listeners ORDER BY created_at, id;

-- name: lock_listeners
-- Lock those of these listeners that can have deliveries, in one order: no other process changes them
-- or their deliveries before the transaction is over.
SELECT id FROM tenuto.listeners
WHERE id = ANY(:ids::text[]) AND kind <> 'definition'
ORDER BY id FOR UPDATE;

-- name: lock_addressees
-- Lock, as `lock_listeners` does, those of these listeners that are enabled: one that was disabled or
-- removed in the meantime gets nothing.
SELECT id FROM tenuto.listeners
WHERE id = ANY(:ids::text[]) AND kind <> 'definition' AND (level > 0 OR hears_inbox > 0)
ORDER BY id FOR UPDATE;

-- name: listening
-- A number that rises with every change of the listeners.
SELECT coalesce(max(version), 0) FROM tenuto.listening;

-- name: listeners_named
-- Those of these listeners that can have deliveries.
SELECT {listener_columns} FROM tenuto.listeners WHERE id = ANY(:ids::text[]) AND kind <> 'definition';

-- name: put_health
-- Record the health of a listener's deliveries.
UPDATE tenuto.listeners SET health = :health WHERE id = :listener_id AND kind <> 'definition';

-- name: disable_listener
-- Disable a listener: it gets no events.
UPDATE tenuto.listeners SET level = 0, hears_inbox = 0
WHERE id = :listener_id AND kind <> 'definition';

-- name: enable_listener
-- Enable a listener that is disabled.
UPDATE tenuto.listeners SET level = :level, hears_inbox = :hears_inbox, health = :health
WHERE tenant = :tenant AND kind = :kind AND id = :id AND level = 0 AND hears_inbox = 0
RETURNING 1;

-- name: change_listener
-- Change the address or the patterns of a listener; a disabled one stays disabled.
UPDATE tenuto.listeners SET
    patterns = :patterns, settings = :settings,
    level = CASE WHEN level = 0 AND hears_inbox = 0 THEN 0 ELSE :level::bigint END,
    hears_inbox = CASE WHEN level = 0 AND hears_inbox = 0 THEN 0 ELSE :hears_inbox::bigint END
WHERE tenant = :tenant AND kind = :kind AND id = :id
RETURNING 1;

-- fragment: unless_held
-- Take a share over, unless another living process holds it.
ON CONFLICT (name) DO UPDATE SET process_id = excluded.process_id
WHERE
    shares.process_id = excluded.process_id
    OR (
        SELECT true FROM tenuto.processes AS living
        WHERE living.id = shares.process_id AND living.stopped_at IS NULL
    ) IS NULL

-- name: claim_shares
-- Claim shares of the outbox that have rows, except those of some streams, and that no other living
-- process holds; a few, from another one on for every process and drain.
WITH wanted AS MATERIALIZED (
    SELECT 'drain/' || share.number AS name
    FROM generate_series(0, 15) AS share (number)
    WHERE
        (
            SELECT true FROM tenuto.outbox AS told
            WHERE
                told.share = share.number AND told.instance_id <> ALL(:passing_over::text[])
            LIMIT 1
        )
        AND (
            SELECT true FROM tenuto.shares AS held
            INNER JOIN tenuto.processes AS living ON living.id = held.process_id
            WHERE
                held.name = 'drain/' || share.number AND living.stopped_at IS NULL
                AND held.process_id <> :process_id
        ) IS NULL
    ORDER BY (share.number + 16 - :first::bigint) % 16 LIMIT :most
)

INSERT INTO tenuto.shares (name, process_id)
SELECT wanted.name, :process_id FROM wanted ORDER BY wanted.name
{unless_held}
RETURNING substr(name, 7)::bigint;

-- fragment: first_tenant
-- The first tenant with rows in a share of the outbox.
(
    SELECT first.tenant FROM tenuto.outbox AS first
    WHERE first.share = share.number
    ORDER BY first.share, first.tenant LIMIT 1
)

-- name: outbox
-- The oldest rows of some shares of the outbox, and the oldest few of each of some tenants in these,
-- which follow one in a circle; except those of some streams, with the numbers of events of the
-- inbox, and with the ids of those without a stream. Some are both.
WITH RECURSIVE turn (share, tenant, first, place) AS (
    SELECT share.number, begin.tenant, begin.tenant, 1
    FROM unnest(:shares::bigint[]) AS share (number)
    CROSS JOIN LATERAL (
        SELECT coalesce(
            (
                SELECT next.tenant FROM tenuto.outbox AS next
                WHERE next.share = share.number AND next.tenant > :after
                ORDER BY next.share, next.tenant LIMIT 1
            ),
            {first_tenant}
        ) AS tenant
    ) AS begin
    WHERE begin.tenant IS NOT NULL
    UNION ALL
    SELECT share.number, following.tenant, share.first, share.place + 1
    FROM (
        SELECT turn.share AS number, turn.tenant, turn.first, turn.place FROM turn
        WHERE turn.place < :tenants
    ) AS share
    CROSS JOIN LATERAL (
        SELECT coalesce(
            (
                SELECT next.tenant FROM tenuto.outbox AS next
                WHERE next.share = share.number AND next.tenant > share.tenant
                ORDER BY next.share, next.tenant LIMIT 1
            ),
            {first_tenant}
        ) AS tenant
    ) AS following
    WHERE following.tenant <> share.first
)

SELECT
    told.number, told.tenant, told.instance_id, told.first_seq, told.last_seq, told.status,
    told.event_number,
    CASE told.instance_id WHEN '' THEN (
        SELECT stored.id FROM tenuto.events AS stored
        WHERE stored.number = told.event_number
        LIMIT 1
    ) END AS event_id
FROM (
    (
        SELECT first.*
        FROM unnest(:shares::bigint[]) AS share (number)
        CROSS JOIN LATERAL (
            SELECT row.* FROM tenuto.outbox AS row
            WHERE
                (row.share, row.number) > (share.number, 0)
                AND (row.share, row.number) <= (share.number, 9223372036854775807)
                AND row.instance_id <> ALL(:passing_over::text[])
            ORDER BY row.share, row.number LIMIT :limit
        ) AS first
        ORDER BY first.number LIMIT :limit
    )
    UNION ALL
    SELECT own.*
    FROM turn
    CROSS JOIN LATERAL (
        SELECT row.* FROM tenuto.outbox AS row
        WHERE
            (row.share, row.tenant, row.number) > (turn.share, turn.tenant, 0)
            AND (row.share, row.tenant, row.number)
            <= (turn.share, turn.tenant, 9223372036854775807)
            AND row.instance_id <> ALL(:passing_over::text[])
        ORDER BY row.share, row.tenant, row.number LIMIT :each
    ) AS own
) AS told
ORDER BY told.number;

-- name: outbox_events
-- Events of the inbox in the order in which they were asked for, up to so many bytes of payload and
-- at least the first. Empty where it is gone.
SELECT
    event.tenant, event.id, event.pattern, event.payload, event.received_at, event.timestamp,
    event.correlation_id, event.content_hash, event.chain, event.origin
FROM (
    SELECT
        asked.number, asked.place,
        sum(coalesce(sized.bytes, 0)) OVER (ORDER BY asked.place) AS bytes
    FROM unnest(:numbers::bigint[]) WITH ORDINALITY AS asked (number, place)
    LEFT JOIN LATERAL (
        SELECT octet_length(stored.payload) AS bytes FROM tenuto.events AS stored
        WHERE stored.number = asked.number
        LIMIT 1
    ) AS sized ON true
) AS named
LEFT JOIN LATERAL (
    SELECT stored.* FROM tenuto.events AS stored
    WHERE stored.number = named.number
    LIMIT 1
) AS event ON true
WHERE named.place = 1 OR named.bytes <= :most::bigint
ORDER BY named.place;

-- name: stretches
-- Ranges of logs, each entry with the place of its range among those that were asked for.
SELECT asked.place, {entry_columns}
FROM unnest(
    :instance_ids::text[], :firsts::bigint[], :lasts::bigint[]
) WITH ORDINALITY AS asked (instance_id, first_seq, last_seq, place)
CROSS JOIN LATERAL (
    SELECT row.* FROM tenuto.workflow_execution_history AS row
    WHERE
        row.instance_id = asked.instance_id
        AND row.seq >= asked.first_seq AND row.seq <= asked.last_seq
    ORDER BY row.seq
    OFFSET 0
) AS entry
ORDER BY asked.place, entry.seq;

-- name: delete_outbox
-- Delete rows of the outbox that were delivered.
DELETE FROM tenuto.outbox WHERE number = ANY(:numbers::bigint[]);

-- name: release_shares
-- Release the shares of the outbox that a process holds.
DELETE FROM tenuto.shares
WHERE process_id = :process_id AND name >= 'drain/' AND name < 'drain0';

-- name: release_listener
-- Release the deliveries to a listener, if this process holds them.
DELETE FROM tenuto.shares
WHERE name = 'to/' || :listener_id::text AND process_id = :process_id
RETURNING 1;

-- name: forget_share_of
-- Delete the share of a listener that is gone, held or not.
DELETE FROM tenuto.shares WHERE name = 'to/' || :listener_id::text;

-- name: insert_postings
-- Insert deliveries; behind others of their stream, until they are promoted.
INSERT INTO tenuto.webhook_deliveries ({posting_columns})
SELECT {posting_columns}
FROM unnest(
    :listener_id::text[], :event_id::text[], :stream::text[], :body::bytea[], :created_at::bigint[],
    :attempts::bigint[]
) WITH ORDINALITY AS posting ({posting_columns}, place)
ORDER BY posting.place
ON CONFLICT (listener_id, event_id) DO NOTHING;

-- name: promote_postings
-- Make the first delivery of each of these streams due.
UPDATE tenuto.webhook_deliveries AS posting SET due = posting.created_at
WHERE
    posting.number = ANY(
        ARRAY(
            SELECT (
                SELECT head.number FROM tenuto.webhook_deliveries AS head
                WHERE head.listener_id = wanted.listener_id AND head.stream = wanted.stream
                ORDER BY head.listener_id, head.stream, head.number LIMIT 1
            )
            FROM unnest(:listener_id::text[], :stream::text[]) AS wanted (listener_id, stream)
        )
    )
    AND coalesce(posting.due, -1) = -1;

-- name: claim_listeners
-- Claim listeners that have deliveries due and that no other living process holds, found by stepping
-- from one to the next in the index; and, without an id, when the next delivery will be due.
WITH RECURSIVE waiting (id) AS (
    (
        SELECT posting.listener_id FROM tenuto.webhook_deliveries AS posting
        WHERE posting.due IS NOT NULL AND posting.listener_id > ''
        ORDER BY posting.listener_id LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT posting.listener_id FROM tenuto.webhook_deliveries AS posting
        WHERE posting.due IS NOT NULL AND posting.listener_id > waiting.id
        ORDER BY posting.listener_id LIMIT 1
    )
    FROM waiting WHERE waiting.id IS NOT NULL
),

first AS MATERIALIZED (
    SELECT
        waiting.id,
        (
            SELECT posting.due FROM tenuto.webhook_deliveries AS posting
            WHERE posting.listener_id = waiting.id AND posting.due IS NOT NULL
            ORDER BY posting.listener_id, posting.due LIMIT 1
        ) AS due
    FROM waiting
    WHERE
        waiting.id IS NOT NULL AND waiting.id <> ALL(:busy::text[])
        AND (:is_among_all::boolean OR waiting.id = ANY(:among::text[]))
),

wanted AS MATERIALIZED (
    SELECT first.id, first.due FROM first
    WHERE
        first.due <= :now
        AND (
            SELECT true FROM tenuto.shares AS held
            INNER JOIN tenuto.processes AS living ON living.id = held.process_id
            WHERE
                held.name = 'to/' || first.id AND living.stopped_at IS NULL
                AND held.process_id <> :process_id
        ) IS NULL
    ORDER BY first.due, first.id LIMIT :most
),

claimed AS (
    INSERT INTO tenuto.shares (name, process_id)
    SELECT 'to/' || wanted.id, :process_id FROM wanted ORDER BY wanted.id
    {unless_held}
    RETURNING name
)

SELECT wanted.id, wanted.due FROM wanted
WHERE 'to/' || wanted.id IN (SELECT claimed.name FROM claimed)
UNION ALL
SELECT NULL, min(first.due) FROM first WHERE first.due > :now;

-- name: postings_due
-- Deliveries that are due to these listeners: for each in turn one that was never tried and one that
-- failed, of both the longest due first.
SELECT {posting_columns}
FROM unnest(:ids::text[]) WITH ORDINALITY AS wanted (id, place)
CROSS JOIN LATERAL (
    SELECT untried.*, row_number() OVER (ORDER BY untried.due, untried.number) AS turn
    FROM (
        SELECT posting.* FROM tenuto.webhook_deliveries AS posting
        WHERE posting.listener_id = wanted.id AND posting.due <= :now AND posting.attempts = 0
        ORDER BY posting.listener_id, posting.due, posting.number LIMIT :each
    ) AS untried
    UNION ALL
    SELECT tried.*, row_number() OVER (ORDER BY tried.due, tried.number) AS turn
    FROM (
        SELECT posting.* FROM tenuto.webhook_deliveries AS posting
        WHERE posting.listener_id = wanted.id AND posting.due <= :now AND posting.attempts > 0
        ORDER BY posting.listener_id, posting.due, posting.number LIMIT :each
    ) AS tried
    ORDER BY turn, attempts LIMIT :each
) AS first
ORDER BY wanted.place, first.turn, first.attempts;

-- name: delete_postings
-- Delete deliveries that have arrived; their streams.
DELETE FROM tenuto.webhook_deliveries
WHERE listener_id = :listener_id AND event_id = ANY(:event_ids::text[])
RETURNING stream;

-- name: put_off_postings
-- Postpone deliveries that failed.
UPDATE tenuto.webhook_deliveries AS posting SET attempts = posting.attempts + 1, due = later.due
FROM unnest(:event_ids::text[], :dues::bigint[]) AS later (event_id, due)
WHERE posting.listener_id = :listener_id AND posting.event_id = later.event_id;

-- name: postings_to
-- The first undelivered events of the streams of a listener, in the order in which they are tried.
SELECT
    posting.number, posting.event_id, posting.stream, posting.created_at, posting.attempts, posting.due
FROM tenuto.webhook_deliveries AS posting
WHERE
    posting.listener_id = :id AND posting.due IS NOT NULL
    AND (posting.due, posting.number) > (:due, :number)
    AND EXISTS (
        SELECT 1 FROM tenuto.listeners AS listener
        WHERE listener.id = :id AND listener.tenant = :tenant AND listener.kind <> 'definition'
    )
ORDER BY posting.due, posting.number LIMIT :limit;

-- name: hasten_postings
-- Deliveries that were put off are due, so many of them.
UPDATE tenuto.webhook_deliveries SET due = :now
WHERE
    number IN (
        SELECT posting.number FROM tenuto.webhook_deliveries AS posting
        WHERE
            posting.listener_id IN (
                SELECT id FROM tenuto.listeners
                WHERE tenant = :tenant AND id = :id AND kind <> 'definition'
            )
            AND posting.due > :now
        LIMIT :most
    )
RETURNING number;

-- name: backlogs
-- Count and age of the deliveries that the listeners of a tenant have.
SELECT listener.id, found.count, found.oldest
FROM tenuto.listeners AS listener
CROSS JOIN LATERAL (
    SELECT count(*) AS count, min(posting.created_at) AS oldest
    FROM tenuto.webhook_deliveries AS posting
    WHERE posting.listener_id = listener.id
    OFFSET 0
) AS found
WHERE listener.tenant = :tenant AND listener.kind <> 'definition' AND found.count > 0;

-- name: prune_events
-- Delete the oldest events before a moment, after a place, with their deliveries; except those that are
-- still to be delivered, and those of instances that have not ended. How many were seen, the place of
-- the last one, and how many were deleted.
WITH seen AS MATERIALIZED (
    SELECT event.number, event.received_at FROM tenuto.events AS event
    WHERE
        event.tenant = :tenant AND event.received_at < :before
        AND (event.received_at, event.number) > (:after_at, :after_number)
    ORDER BY event.tenant, event.received_at, event.number LIMIT :limit
),

old AS MATERIALIZED (
    SELECT event.number, event.id FROM tenuto.events AS event
    WHERE
        event.number IN (SELECT seen.number FROM seen)
        AND coalesce(event.matched_at, -1) <> -1
        AND (
            SELECT true FROM tenuto.outbox AS told
            WHERE told.event_number = event.number LIMIT 1
        ) IS NULL
        AND (
            SELECT true FROM tenuto.event_deliveries AS delivery
            WHERE
                delivery.event_id = event.id AND delivery.tenant = event.tenant
                AND delivery.outcome = 'matched'
            LIMIT 1
        ) IS NULL
        AND (
            starts_with(event.pattern, 'workflow.')
            OR substr(event.id, 37, 1) <> ':'
            OR (
                SELECT true FROM tenuto.workflow_instances AS instance
                WHERE
                    instance.id = substr(event.id, 1, 36)
                    AND instance.status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
                LIMIT 1
            ) IS NULL
        )
    ORDER BY event.number
    FOR UPDATE OF event SKIP LOCKED
),

gone AS (
    DELETE FROM tenuto.events AS event USING old WHERE event.number = old.number
),

deliveries_gone AS (
    DELETE FROM tenuto.event_deliveries AS delivery USING old
    WHERE delivery.event_id = old.id AND delivery.tenant = :tenant
),

last_seen AS (
    SELECT seen.received_at, seen.number FROM seen
    ORDER BY seen.received_at DESC, seen.number DESC LIMIT 1
)

SELECT
    (SELECT count(*) FROM seen),
    (SELECT last_seen.received_at FROM last_seen),
    (SELECT last_seen.number FROM last_seen),
    (SELECT count(*) FROM old);

-- name: lock_maker
-- Whether a key may make others; it is not revoked before the transaction is over.
SELECT 1 FROM tenuto.access_keys WHERE id = :id AND revoked_at IS NULL FOR SHARE;

-- name: touch_access_keys
-- When keys were last used; all locked in one order.
WITH used AS MATERIALIZED (
    SELECT known.id, used.at
    FROM unnest(:ids::text[], :at::bigint[]) AS used (id, at)
    INNER JOIN tenuto.access_keys AS known ON known.id = used.id
    ORDER BY known.id FOR UPDATE OF known
)

UPDATE tenuto.access_keys AS known SET last_used_at = greatest(known.last_used_at, used.at)
FROM used WHERE known.id = used.id;

-- name: lock_audit_heads
-- Lock the ends of chains, in one order: no other process continues them before the transaction is
-- over.
SELECT tenant, number, hash FROM tenuto.audit_heads
WHERE tenant = ANY(:tenants::text[]) ORDER BY tenant FOR UPDATE;

-- name: begin_audit
-- Insert the ends of chains that have no line yet.
INSERT INTO tenuto.audit_heads (tenant, number, hash)
SELECT wanted.tenant, 0, ''::bytea FROM unnest(:tenants::text[]) AS wanted (tenant)
ORDER BY wanted.tenant
ON CONFLICT (tenant) DO NOTHING;

-- name: insert_audit
-- Insert lines of the audit log, and update the ends of their chains.
WITH ended AS (
    UPDATE tenuto.audit_heads AS head SET number = newest.number, hash = newest.hash
    FROM (
        SELECT DISTINCT ON (line.tenant) line.tenant, line.number, line.hash
        FROM unnest(:tenant::text[], :number::bigint[], :hash::bytea[]) AS line (tenant, number, hash)
        ORDER BY line.tenant, line.number DESC
    ) AS newest
    WHERE head.tenant = newest.tenant
)

INSERT INTO tenuto.audit_log ({audit_columns})
SELECT {audit_columns}
FROM unnest(
    :number::bigint[], :previous_hash::bytea[], :hash::bytea[], :id::text[], :tenant::text[],
    :at::bigint[], :actor::text[], :kind::text[], :action::text[], :target::text[], :outcome::text[],
    :source::text[], :request_id::text[], :credential::text[], :before::bytea[], :after::bytea[]
) AS line ({audit_columns});

-- name: extend_audit
-- Insert lines of the audit log, none of which is there, whose chains still end before the first of
-- them, and give the tenants of these. Ends are locked in the order of tenants, as everywhere.
WITH line AS (
    SELECT {audit_columns}
    FROM unnest(
        :number::bigint[], :previous_hash::bytea[], :hash::bytea[], :id::text[], :tenant::text[],
        :at::bigint[], :actor::text[], :kind::text[], :action::text[], :target::text[],
        :outcome::text[], :source::text[], :request_id::text[], :credential::text[],
        :before::bytea[], :after::bytea[]
    ) AS line ({audit_columns})
),

open AS MATERIALIZED (
    SELECT head.tenant
    FROM tenuto.audit_heads AS head
    WHERE head.tenant = ANY(:tenant::text[]) AND EXISTS (
        SELECT 1 FROM line
        WHERE
            line.tenant = head.tenant AND line.number = head.number + 1
            AND line.previous_hash = head.hash
    ) AND NOT EXISTS (
        SELECT 1
        FROM line INNER JOIN tenuto.audit_log AS known
            ON known.tenant = line.tenant AND known.id = line.id
        WHERE line.tenant = head.tenant
    )
    ORDER BY head.tenant
    FOR UPDATE
),

ended AS (
    UPDATE tenuto.audit_heads AS head SET number = newest.number, hash = newest.hash
    FROM (
        SELECT DISTINCT ON (line.tenant) line.tenant, line.number, line.hash
        FROM line INNER JOIN open ON open.tenant = line.tenant
        ORDER BY line.tenant, line.number DESC
    ) AS newest
    WHERE head.tenant = newest.tenant
)

INSERT INTO tenuto.audit_log ({audit_columns})
SELECT {audit_columns} FROM line
WHERE line.tenant IN (SELECT tenant FROM open)
RETURNING tenant;

-- name: audit_by_id
-- Those of these lines of the audit log that are written.
SELECT
    line.number, line.previous_hash, line.hash, line.id, line.tenant, line.at, line.actor, line.kind,
    line.action, line.target, line.outcome, line.source, line.request_id, line.credential, line.before,
    line.after
FROM unnest(:tenants::text[], :ids::text[]) AS wanted (tenant, id)
INNER JOIN tenuto.audit_log AS line ON line.tenant = wanted.tenant AND line.id = wanted.id;

-- name: remove_task
-- Remove a task, and the state of its address.
WITH forgotten AS (
    DELETE FROM tenuto.push_targets WHERE tenant = :tenant AND task_id = :id
)

DELETE FROM tenuto.task_definitions WHERE tenant = :tenant AND id = :id RETURNING 1;

-- name: pushed_with_jobs
-- The tasks of all tenants that are pushed and have unclaimed jobs.
SELECT task.tenant, task.id
FROM tenuto.task_definitions AS task
CROSS JOIN LATERAL (
    SELECT 1 FROM tenuto.jobs AS job
    WHERE
        job.leased_by IS NULL AND job.tenant = task.tenant AND job.task_id = task.id
        AND NOT job.is_called_off
    ORDER BY job.offered_at LIMIT 1
) AS first
WHERE task.is_pushed
ORDER BY task.tenant, task.id;

-- name: hand_over
-- Extend leases of workers to the time-outs of their attempts.
UPDATE tenuto.jobs AS job SET leased_until = job.overdue_at
FROM {given_leases}
WHERE
    {is_given_job} AND job.token = given.token AND job.is_outside AND job.leased_until > tenuto.clock_ms()
RETURNING job.instance_id, job.node, job.iteration, job.attempt, job.token;

------------------------------------------------------------------------------------------------ upkeep

-- name: depths
-- How much is waiting, and since when; each count stops at its limit.
WITH RECURSIVE tenants AS (
    SELECT (
        SELECT instance.tenant FROM tenuto.workflow_instances AS instance
        ORDER BY instance.tenant LIMIT 1
    ) AS tenant
    UNION ALL
    SELECT (
        SELECT instance.tenant FROM tenuto.workflow_instances AS instance
        WHERE instance.tenant > tenants.tenant ORDER BY instance.tenant LIMIT 1
    )
    FROM tenants WHERE tenants.tenant IS NOT NULL
),

test_runs AS MATERIALIZED (
    -- Test runs do not count. They have an index of their own: to test the definition of each active
    -- instance would read as many rows.
    SELECT found.id FROM tenants
    CROSS JOIN LATERAL (
        SELECT instance.id FROM tenuto.workflow_instances AS instance
        WHERE
            instance.tenant = tenants.tenant
            AND instance.definition_id >= '~test:' AND instance.definition_id < '~tesu'
            AND instance.status = ANY(:statuses::text[])
        OFFSET 0
    ) AS found
    LIMIT :most
)

SELECT
    (
        SELECT count(*) FROM (
            SELECT 1 FROM tenants
            CROSS JOIN unnest(:statuses::text[]) AS wanted (status)
            CROSS JOIN LATERAL (
                SELECT 1 FROM tenuto.workflow_instances AS instance
                WHERE instance.tenant = tenants.tenant AND instance.status = wanted.status
                OFFSET 0
            ) AS found
            LIMIT :most
        ) AS counted
    )
    - (SELECT count(*) FROM test_runs),
    (
        SELECT count(*) FROM (
            SELECT 1 FROM tenuto.workflow_event_subscriptions LIMIT :most
        ) AS counted
    )
    - (
        SELECT count(*) FROM test_runs
        CROSS JOIN LATERAL (
            SELECT 1 FROM tenuto.workflow_event_subscriptions AS open
            WHERE open.instance_id = test_runs.id
            OFFSET 0
        ) AS found
    ),
    mail.count,
    jobs.count
    - (
        SELECT count(*) FROM test_runs
        CROSS JOIN LATERAL (
            SELECT 1 FROM tenuto.jobs AS job
            WHERE job.instance_id = test_runs.id AND job.leased_by IS NULL
            OFFSET 0
        ) AS found
    ),
    timers.count,
    (SELECT count(*) FROM (SELECT 1 FROM tenuto.outbox LIMIT :most) AS counted),
    postings.count,
    mail.oldest, jobs.oldest, timers.oldest,
    (
        SELECT
            coalesce(
                (
                    SELECT event.received_at FROM tenuto.events AS event
                    WHERE event.number = told.event_number
                ),
                (
                    SELECT history.at_ms FROM tenuto.workflow_execution_history AS history
                    WHERE history.instance_id = told.instance_id AND history.seq = told.first_seq
                )
            )
        FROM tenuto.outbox AS told ORDER BY told.number LIMIT 1
    ),
    postings.oldest
FROM (
    SELECT count(*) AS count, min(old.created_at) AS oldest FROM (
        SELECT letter.created_at FROM tenuto.mailbox AS letter LIMIT :most
    ) AS old
) AS mail
CROSS JOIN (
    SELECT count(*) AS count, min(old.offered_at) AS oldest FROM (
        SELECT job.offered_at FROM tenuto.jobs AS job WHERE job.leased_by IS NULL LIMIT :most
    ) AS old
) AS jobs
CROSS JOIN (
    SELECT count(*) AS count, min(old.due) AS oldest FROM (
        SELECT timer.due FROM tenuto.timers AS timer
        WHERE timer.due <= :now ORDER BY timer.due LIMIT :most
    ) AS old
) AS timers
CROSS JOIN (
    SELECT count(*) AS count, min(old.created_at) AS oldest FROM (
        SELECT posting.created_at FROM tenuto.webhook_deliveries AS posting LIMIT :most
    ) AS old
) AS postings;

------------------------------------------------------------------------------------- for good

-- name: stored_instances
-- How many instances of a tenant have not ended.
SELECT count(*) FROM (
    SELECT instance.id
    FROM unnest(:statuses::text[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT known.id FROM tenuto.workflow_instances AS known
        WHERE known.tenant = :tenant AND known.status = wanted.status
        LIMIT :most
    ) AS instance
    LIMIT :most
) AS found;

-- name: stored_waits
-- How many waits and triggers a tenant has.
SELECT count(*) FROM (
    SELECT wait.instance_id FROM tenuto.workflow_event_subscriptions AS wait
    WHERE wait.tenant = :tenant
    LIMIT :most
) AS found;

-- name: stored_events
-- How many events a tenant has in the inbox.
SELECT count(*) FROM (
    SELECT event.number FROM tenuto.events AS event WHERE event.tenant = :tenant LIMIT :most
) AS found;

-- name: bytes_of_logs
-- The bytes of the next entries of a tenant's instances, in the order of the change of these, and the
-- place of the last one, unless that is the end. Without OFFSET they might be read in another order.
WITH page AS MATERIALIZED (
    SELECT instance.updated_at AS at, instance.id, entry.seq AS number, entry.size
    FROM tenuto.workflow_instances AS instance
    CROSS JOIN LATERAL (
        SELECT history.seq, coalesce(octet_length(history.payload), 0) + :row_bytes::bigint AS size
        FROM tenuto.workflow_execution_history AS history
        WHERE
            history.instance_id = instance.id
            AND history.seq > CASE WHEN instance.id = :id THEN :number::bigint ELSE 0 END
        ORDER BY history.seq OFFSET 0
    ) AS entry
    WHERE
        instance.tenant = :tenant
        AND (instance.updated_at, instance.id) >= (:at::bigint, :id)
        AND instance.updated_at <= :until
    ORDER BY instance.updated_at, instance.id, entry.seq LIMIT :limit
)

SELECT
    coalesce(sum(page.size), 0)::bigint,
    (
        SELECT jsonb_build_array(last.at, last.id, last.number)::text
        FROM page AS last ORDER BY last.at, last.id, last.number LIMIT 1 OFFSET :limit - 1
    )
FROM page;

-- name: bytes_of_lines
-- The same of lines of tasks; of those that were written at the same moment some may be left out.
WITH page AS MATERIALIZED (
    SELECT instance.updated_at AS at, instance.id, chunk.at AS number, chunk.size
    FROM tenuto.workflow_instances AS instance
    CROSS JOIN LATERAL (
        SELECT line.at, line.size + :row_bytes::bigint AS size
        FROM tenuto.task_logs AS line
        WHERE
            line.instance_id = instance.id
            AND line.at > CASE WHEN instance.id = :id THEN :number::bigint ELSE -1 END
        ORDER BY line.at OFFSET 0
    ) AS chunk
    WHERE
        instance.tenant = :tenant
        AND (instance.updated_at, instance.id) >= (:at::bigint, :id)
        AND instance.updated_at <= :until
    ORDER BY instance.updated_at, instance.id, chunk.at LIMIT :limit
)

SELECT
    coalesce(sum(page.size), 0)::bigint,
    (
        SELECT jsonb_build_array(last.at, last.id, last.number)::text
        FROM page AS last ORDER BY last.at, last.id, last.number LIMIT 1 OFFSET :limit - 1
    )
FROM page;

-- name: bytes_of_events
-- The same of a tenant's events, oldest first.
WITH page AS MATERIALIZED (
    SELECT
        event.received_at AS at, event.number,
        octet_length(event.payload) + :row_bytes::bigint AS size
    FROM tenuto.events AS event
    WHERE
        event.tenant = :tenant
        AND (event.received_at, event.number) > (:at::bigint, :number::bigint)
        AND event.received_at <= :until
    ORDER BY event.tenant, event.received_at, event.number LIMIT :limit
)

SELECT
    coalesce(sum(page.size), 0)::bigint,
    (
        SELECT jsonb_build_array(last.at, '', last.number)::text
        FROM page AS last LIMIT 1 OFFSET :limit - 1
    )
FROM page;

-- name: bytes_of_definitions
-- The same of a tenant's definitions, by id and version.
WITH page AS MATERIALIZED (
    SELECT
        saved.id, saved.version AS number,
        octet_length(saved.content) + :row_bytes::bigint AS size
    FROM tenuto.workflow_definitions AS saved
    WHERE saved.tenant = :tenant AND (saved.id, saved.version) > (:id, :number::bigint)
    ORDER BY saved.tenant, saved.id, saved.version LIMIT :limit
)

SELECT
    coalesce(sum(page.size), 0)::bigint,
    (
        SELECT jsonb_build_array(0, last.id, last.number)::text
        FROM page AS last LIMIT 1 OFFSET :limit - 1
    )
FROM page;

-- name: open_of_origin
-- How many instances of an origin have not ended.
SELECT count(*) FROM (
    SELECT instance.id FROM tenuto.workflow_instances AS instance
    WHERE instance.origin_id = :origin_id AND instance.completed_at IS NULL
    LIMIT :most
) AS found;

-- name: lock_roots
-- Lock roots of a tenant.
SELECT root.id FROM tenuto.workflow_instances AS root
WHERE root.id = ANY(:ids::text[]) AND root.tenant = :tenant AND root.root_id IS NULL
ORDER BY root.id FOR UPDATE;

-- name: lock_children
-- Lock all instances below roots.
SELECT child.root_id, child.id
FROM unnest(:ids::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT below.root_id, below.id FROM tenuto.workflow_instances AS below
    WHERE below.root_id = wanted.id FOR UPDATE
) AS child;

-- name: busy_instances
-- Those of these instances that have not ended, and, unless these are ignored, those that have open
-- work, a dead letter or undelivered events. The mailbox is walked: it holds only messages that are
-- not yet taken.
SELECT wanted.id
FROM unnest(:ids::text[], :shares::bigint[]) AS wanted (id, share)
WHERE
    (
        SELECT true FROM tenuto.workflow_instances AS instance
        WHERE
            instance.id = wanted.id
            AND instance.status IN ('COMPLETED', 'FAILED', 'CANCELLED')
    ) IS NULL
    OR (
        NOT :with_dead_letters AND (
            SELECT true FROM tenuto.dead_letters AS letter
            WHERE letter.instance_id = wanted.id LIMIT 1
        ) IS NOT NULL
    )
    OR (
        NOT :with_debts AND (
            (
                SELECT true FROM tenuto.owners AS owner WHERE owner.instance_id = wanted.id
            ) IS NOT NULL
            OR (
                SELECT true FROM tenuto.timers AS timer
                WHERE timer.instance_id = wanted.id LIMIT 1
            ) IS NOT NULL
            OR (
                SELECT true FROM tenuto.workflow_event_subscriptions AS open
                WHERE open.instance_id = wanted.id LIMIT 1
            ) IS NOT NULL
            OR (
                SELECT true FROM tenuto.jobs AS job WHERE job.instance_id = wanted.id LIMIT 1
            ) IS NOT NULL
            OR (
                SELECT true FROM tenuto.mailbox AS letter
                WHERE letter.instance_id = wanted.id LIMIT 1
            ) IS NOT NULL
            OR (
                SELECT true FROM tenuto.outbox AS told
                WHERE told.share = wanted.share AND told.instance_id = wanted.id LIMIT 1
            ) IS NOT NULL
            OR (
                SELECT true
                FROM tenuto.listeners AS listener
                CROSS JOIN LATERAL (
                    SELECT 1 FROM tenuto.webhook_deliveries AS posting
                    WHERE posting.listener_id = listener.id AND posting.stream = wanted.id
                    LIMIT 1
                ) AS posting
                LIMIT 1
            ) IS NOT NULL
        )
    );

-- name: erase_instances
-- Delete instances, with all their rows in other tables.
WITH steps AS (
    DELETE FROM tenuto.workflow_current_steps WHERE instance_id = ANY(:ids::text[])
),

found_by AS (
    DELETE FROM tenuto.workflow_searchable_values WHERE instance_id = ANY(:ids::text[])
),

snapshots AS (
    DELETE FROM tenuto.workflow_snapshots WHERE instance_id = ANY(:ids::text[])
),

logs AS (
    DELETE FROM tenuto.workflow_execution_history WHERE instance_id = ANY(:ids::text[])
),

keys AS (
    DELETE FROM tenuto.idempotency_keys WHERE instance_id = ANY(:ids::text[])
),

waits AS (
    DELETE FROM tenuto.workflow_event_subscriptions WHERE instance_id = ANY(:ids::text[])
),

deliveries AS (
    DELETE FROM tenuto.event_deliveries WHERE instance_id = ANY(:ids::text[])
),

timers AS (
    DELETE FROM tenuto.timers WHERE instance_id = ANY(:ids::text[])
),

mail AS (
    DELETE FROM tenuto.mailbox WHERE instance_id = ANY(:ids::text[])
),

owned AS (
    DELETE FROM tenuto.owners WHERE instance_id = ANY(:ids::text[])
),

offered AS (
    DELETE FROM tenuto.jobs WHERE instance_id = ANY(:ids::text[])
),

letters AS (
    DELETE FROM tenuto.dead_letters WHERE instance_id = ANY(:ids::text[])
),

suspects AS (
    DELETE FROM tenuto.quarantine WHERE instance_id = ANY(:ids::text[])
),

told AS (
    DELETE FROM tenuto.outbox
    WHERE share = ANY(:shares::bigint[]) AND instance_id = ANY(:ids::text[])
),

postings AS (
    DELETE FROM tenuto.webhook_deliveries AS posting
    USING tenuto.listeners AS listener, unnest(:ids::text[]) AS gone (id)
    WHERE posting.listener_id = listener.id AND posting.stream = gone.id
)

DELETE FROM tenuto.workflow_instances WHERE id = ANY(:ids::text[]);

-- name: erase_definition
-- Delete all versions of a definition.
DELETE FROM tenuto.workflow_definitions WHERE tenant = :tenant AND id = :id;

-- name: old_rehearsals
-- Definitions of test runs, oldest first.
SELECT tenant, id FROM tenuto.workflow_definitions
WHERE id >= '~test:' AND id < '~tesu' AND created_at < :before
ORDER BY created_at LIMIT :limit;

--------------------------------------------------------------------------------------- bulk operations

-- name: prune_bulks
-- Delete bulk operations of a tenant that have ended, oldest first.
WITH old AS MATERIALIZED (
    SELECT tenant, id FROM tenuto.bulk_operations
    WHERE tenant = :tenant AND created_at < :before AND is_open = 0
    ORDER BY created_at, id LIMIT :limit
    FOR UPDATE SKIP LOCKED
)

DELETE FROM tenuto.bulk_operations AS gone USING old
WHERE gone.tenant = old.tenant AND gone.id = old.id
RETURNING gone.id;

-- name: claim_bulks
-- Claim open bulk operations that no process holds.
WITH free AS MATERIALIZED (
    SELECT tenant, id FROM tenuto.bulk_operations
    WHERE is_open = 1 AND held_until <= :now
    ORDER BY held_until LIMIT :limit
    FOR UPDATE SKIP LOCKED
)

UPDATE tenuto.bulk_operations AS taken SET token = taken.token + 1, held_until = :until
FROM free WHERE taken.tenant = free.tenant AND taken.id = free.id
RETURNING
    taken.tenant, taken.id, taken.content, taken.progress, taken.created_at, taken.is_open,
    taken.is_stopped, taken.token;

-------------------------------------------------------------------------------------------- workers

-- name: put_worker
-- Record that a worker claims tasks, by the clock of the server; whether it is new, or was not
-- connected before.
INSERT INTO tenuto.workers AS known (
    tenant, worker_id, task_ids, left_out, first_seen, last_seen
)
SELECT :tenant::text, :worker_id::text, :task_ids::text, :left_out::bigint, seen.at, seen.at
FROM (SELECT tenuto.clock_ms() - :age::bigint AS at OFFSET 0) AS seen
ON CONFLICT (tenant, worker_id) DO UPDATE SET
    task_ids = excluded.task_ids,
    left_out = excluded.left_out,
    first_seen = CASE
        WHEN excluded.last_seen - known.last_seen > :connected_for::bigint THEN excluded.last_seen
        ELSE known.first_seen
    END,
    last_seen = excluded.last_seen
WHERE excluded.last_seen > known.last_seen
RETURNING first_seen = last_seen;

-- name: touch_worker
-- Record that a known worker has sent a heartbeat, by the clock of the server.
UPDATE tenuto.workers AS known SET
    first_seen = CASE
        WHEN seen.at - known.last_seen > :connected_for::bigint THEN seen.at ELSE known.first_seen
    END,
    last_seen = seen.at
FROM (SELECT tenuto.clock_ms() - :age::bigint AS at OFFSET 0) AS seen
WHERE known.tenant = :tenant AND known.worker_id = :worker_id AND known.last_seen < seen.at;

-- name: workers_seen
-- The workers of a tenant that were seen lately, by the clock of the server.
SELECT
    tenant, worker_id, task_ids, left_out, first_seen, last_seen,
    last_seen >= (SELECT tenuto.clock_ms()) - :connected_for::bigint
FROM tenuto.workers
WHERE
    tenant = :tenant AND worker_id > :after
    AND last_seen >= (SELECT tenuto.clock_ms()) - :within::bigint
ORDER BY tenant, worker_id LIMIT :limit;

-- name: forget_workers
-- Delete workers that were seen long ago, by the clock of the server.
WITH old AS MATERIALIZED (
    SELECT tenant, worker_id FROM tenuto.workers
    WHERE last_seen < (SELECT tenuto.clock_ms()) - :kept_for::bigint
    ORDER BY last_seen LIMIT :limit
    FOR UPDATE SKIP LOCKED
)

DELETE FROM tenuto.workers AS gone USING old
WHERE gone.tenant = old.tenant AND gone.worker_id = old.worker_id
RETURNING 1;

------------------------------------------------------------------------------------------- numbers

-- name: held_by_task
-- How many jobs of a tenant have a valid lease, by task, by the clock of the server.
SELECT held.task_id, count(*)
FROM (
    SELECT task_id FROM tenuto.jobs
    WHERE
        leased_by IS NOT NULL AND leased_until > (SELECT tenuto.clock_ms()) AND tenant = :tenant
    LIMIT :most
) AS held
GROUP BY held.task_id;

-- name: leases_of_workers
-- How many valid leases each worker of a tenant has, by the clock of the server.
SELECT held.leased_by, count(*)
FROM (
    SELECT leased_by FROM tenuto.jobs
    WHERE
        leased_by IS NOT NULL AND leased_until > (SELECT tenuto.clock_ms())
        AND tenant = :tenant AND is_outside
    LIMIT :most
) AS held
GROUP BY held.leased_by;

-- name: tallies
-- The newest instances of some statuses, counted by definition and by the minutes of start and end.
SELECT
    found.definition_id,
    wanted.status,
    CASE WHEN found.created_at >= :apart_from::bigint THEN found.created_at / 60000 ELSE 0 END,
    CASE WHEN found.completed_at >= :apart_from::bigint THEN found.completed_at / 60000 ELSE 0 END,
    count(*)
FROM unnest(:statuses::text[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT i.definition_id, i.created_at, i.completed_at FROM tenuto.workflow_instances AS i
    WHERE i.tenant = :tenant AND i.status = wanted.status AND i.created_at >= :since
    ORDER BY i.created_at DESC LIMIT :most
) AS found
GROUP BY 1, 2, 3, 4;


------------------------------------------------------------------------------------------ schedules

-- name: due_schedules
-- Claim schedules that have something to do and that no process holds, by the clock of the server,
-- up to the one that reaches so many bytes.
WITH due AS MATERIALIZED (
    SELECT tenant, id, next_at, octet_length(content) AS size FROM tenuto.schedules
    WHERE
        next_at <= :now::bigint AND held_until <= tenuto.clock_ms()
        AND (next_at, tenant, id) > (:after::bigint, :tenant, :id)
    ORDER BY next_at LIMIT :limit::bigint
    FOR UPDATE SKIP LOCKED
),

free AS MATERIALIZED (
    SELECT sized.tenant, sized.id
    FROM (
        SELECT
            due.tenant, due.id,
            sum(due.size) OVER (
                ORDER BY due.next_at, due.tenant, due.id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS before
        FROM due
    ) AS sized
    WHERE coalesce(sized.before, 0) < :most_bytes::bigint
)

UPDATE tenuto.schedules AS taken SET held_until = tenuto.clock_ms() + :claim::bigint
FROM free WHERE taken.tenant = free.tenant AND taken.id = free.id
RETURNING
    taken.tenant, taken.id, taken.content, taken.revision, taken.version, taken.status,
    taken.next_at, taken.next_tick, taken.handled, taken.workflow_id, taken.calendar_id,
    taken.note, taken.problem, taken.tries, taken.last_executed, taken.last_nominal,
    taken.last_instance_id, taken.created_at, taken.created_by, taken.changed_at,
    taken.changed_by;

-- name: those_schedules
-- Some schedules, in their order, up to the one that reaches so many bytes.
SELECT {schedule_columns} FROM tenuto.schedules
WHERE (tenant, id) IN (
    SELECT sized.tenant, sized.id
    FROM (
        SELECT
            tenant, id,
            sum(octet_length(content)) OVER (
                ORDER BY tenant, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS before
        FROM tenuto.schedules
        WHERE (tenant, id) IN (
            SELECT key ->> 0, key ->> 1 FROM json_array_elements(:keys::text::json) AS key
        )
    ) AS sized
    WHERE coalesce(sized.before, 0) < :most_bytes::bigint
)
ORDER BY tenant, id;

-- name: fire_schedules
-- Advance schedules that have the version before; which they are. They are locked in their order:
-- two processes never deadlock.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(:rows::text::json) AS state (
        tenant text, id text, revision bigint, version bigint, status text, next_at bigint,
        next_tick bigint, handled bigint, note text, problem text, tries bigint,
        last_executed bigint, last_nominal bigint, last_instance_id text, changed_at bigint,
        changed_by text, created_at bigint
    )
), locked AS MATERIALIZED (
    SELECT given.*
    FROM tenuto.schedules AS schedule
    INNER JOIN given
        ON
            schedule.tenant = given.tenant AND schedule.id = given.id
            AND schedule.version = given.version - 1
            AND schedule.created_at = given.created_at
    ORDER BY schedule.tenant, schedule.id
    FOR UPDATE OF schedule
)

UPDATE tenuto.schedules AS schedule SET
    revision = locked.revision,
    version = locked.version,
    status = locked.status,
    next_at = locked.next_at,
    next_tick = locked.next_tick,
    handled = locked.handled,
    note = locked.note,
    problem = locked.problem,
    tries = locked.tries,
    last_executed = locked.last_executed,
    last_nominal = locked.last_nominal,
    last_instance_id = locked.last_instance_id,
    changed_at = locked.changed_at,
    changed_by = locked.changed_by,
    held_until = 0
FROM locked
WHERE schedule.tenant = locked.tenant AND schedule.id = locked.id
RETURNING schedule.tenant, schedule.id;

-- name: move_schedules
-- Let the schedules of some calendars find their next ticks again. They are locked in their order.
WITH locked AS MATERIALIZED (
    SELECT tenant, id FROM tenuto.schedules
    WHERE
        tenant = :tenant AND status IN ('active', 'error')
        AND calendar_id IN (SELECT json_array_elements_text(:calendars::text::json))
    ORDER BY tenant, id
    FOR UPDATE
)

UPDATE tenuto.schedules AS schedule
SET version = schedule.version + 1, next_at = :next_at::bigint, held_until = 0
FROM locked WHERE schedule.tenant = locked.tenant AND schedule.id = locked.id;

-- name: put_ticks
-- Record ticks, in the place of those of the same nominal times; one that was started stays so,
-- unless it is said of its instance that it was refused.
INSERT INTO tenuto.schedule_ticks ({tick_columns})
SELECT tick.*
FROM unnest(
    :tenant::text[], :schedule_id::text[], :nominal::bigint[], :is_range::bigint[], :at::bigint[],
    :outcome::text[], :instance_id::text[], :reason::text[], :count::bigint[], :last::bigint[],
    :is_open::bigint[], :is_confirmed::bigint[], :mark::text[], :recorded_at::bigint[]
) AS tick ({tick_columns})
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

-- name: insert_mail
-- Insert mailbox messages that are not there already, for the owners of their instances, or for any
-- process.
INSERT INTO tenuto.mailbox (number, id, instance_id, input, created_at, claimed_by, is_unseen)
SELECT
    mail.number, mail.id, mail.instance_id, mail.input, mail.created_at, mail.owner,
    mail.owner IS NOT NULL
FROM (
    SELECT
        nextval('tenuto.mailbox_number_seq') AS number,
        sent.*,
        (
            SELECT owner.process_id FROM tenuto.owners AS owner
            WHERE owner.instance_id = sent.instance_id
        ) AS owner
    FROM unnest(
        :id::text[], :instance_id::text[], :input::bytea[], :created_at::bigint[]
    ) AS sent (id, instance_id, input, created_at)
    OFFSET 0
) AS mail
ORDER BY mail.id COLLATE "C", mail.instance_id COLLATE "C"
ON CONFLICT (id, instance_id) DO NOTHING
RETURNING instance_id, claimed_by;

-- name: together
-- Several statements of a transaction as one, and an array of the rows of each.
WITH /* parts */
SELECT /* results */;

-- name: together_result
-- The rows of one of them.
(SELECT array_agg(part) FROM part);

-- name: for_each
-- A statement for each row of parameters, and an array of the rows of each time.
SELECT (SELECT array_agg(part) FROM (/* statement */) AS part)
FROM unnest(/* arrays */) WITH ORDINALITY AS wanted (/* names */, place)
ORDER BY wanted.place;

-- name: insert_grants
-- Insert the mailbox messages of a pass: for the owner of an instance, else for the process that asked
-- for its slot, else for the one that is named, else for any.
INSERT INTO tenuto.mailbox (number, id, instance_id, input, created_at, claimed_by, is_unseen)
SELECT
    mail.number, mail.id, mail.instance_id, mail.input, mail.created_at, mail.receiver,
    mail.receiver IS NOT NULL
FROM (
    SELECT
        nextval('tenuto.mailbox_number_seq') AS number,
        sent.id, sent.instance_id, sent.input, sent.created_at,
        coalesce(
            (
                SELECT owner.process_id FROM tenuto.owners AS owner
                WHERE owner.instance_id = sent.instance_id
            ),
            (
                SELECT process.id FROM tenuto.slots AS slot
                INNER JOIN tenuto.processes AS process ON process.id = slot.asked_by
                WHERE
                    slot.instance_id = sent.instance_id AND slot.node = '' AND slot.iteration = ''
                    AND process.stopped_at IS NULL AND NOT process.is_guest
                    AND sent.claimed_by IS NOT NULL
            ),
            sent.claimed_by
        ) AS receiver
    FROM unnest(
        :id::text[], :instance_id::text[], :input::bytea[], :created_at::bigint[],
        :claimed_by::text[]
    ) AS sent (id, instance_id, input, created_at, claimed_by)
    OFFSET 0
) AS mail
ORDER BY mail.id COLLATE "C", mail.instance_id COLLATE "C"
ON CONFLICT (id, instance_id) DO NOTHING
RETURNING instance_id, claimed_by;

-- name: open_ticks
-- The open ticks of schedules, the oldest of each.
SELECT
    open.tenant, open.schedule_id, open.nominal, open.is_range, open.at, open.outcome,
    open.instance_id, open.reason, open.count, open.last, open.is_open, open.is_confirmed,
    open.mark, open.recorded_at
FROM json_array_elements(:keys::text::json) AS key
CROSS JOIN LATERAL (
    SELECT {tick_columns} FROM tenuto.schedule_ticks AS each
    WHERE
        each.tenant = key ->> 0 AND each.schedule_id = key ->> 1
        AND each.is_open = 1 AND (:is_any::boolean OR each.is_confirmed = 0)
    ORDER BY each.tenant, each.schedule_id, each.nominal LIMIT :limit::bigint
) AS open;

-- name: close_ticks
-- The instances of ticks have ended.
WITH ended AS MATERIALIZED (
    SELECT key ->> 0 AS tenant, key ->> 1 AS schedule_id, (key ->> 2)::bigint AS nominal
    FROM json_array_elements(:ticks::text::json) AS key
)

UPDATE tenuto.schedule_ticks AS tick SET is_open = 0, is_confirmed = 1
FROM ended
WHERE
    tick.tenant = ended.tenant AND tick.schedule_id = ended.schedule_id
    AND tick.nominal = ended.nominal AND tick.is_range = 0 AND tick.outcome = 'started'
    AND tick.is_open <> 0;

---------------------------------------------------------------------------------------------- slots

-- name: slots_released
-- Part: give slots back, or withdraw requests.
DELETE FROM tenuto.slots AS slot
USING unnest(:instance_id::text[], :node::text[], :iteration::text[]) AS released (
    instance_id, node, iteration
)
WHERE
    slot.instance_id = released.instance_id AND slot.node = released.node
    AND slot.iteration = released.iteration;

-- name: slots_asked
-- Part: ask for slots; one of the same key is given back.
INSERT INTO tenuto.slots (
    instance_id, node, iteration, tenant, definition_id, keys, own_key, own_limit, on_full, number,
    rank_class, rank, priority, deadline, asked_at, state, held_at, pace,
    above, blocked_on, asked_by
)
SELECT
    asked.*,
    :process_id
FROM unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :tenant::text[],
    :definition_id::text[], :keys::text[], :own_key::text[], :own_limit::bigint[],
    :on_full::text[], :number::bigint[], :rank_class::bigint[], :rank::bigint[],
    :priority::bigint[], :deadline::bigint[], :asked_at::bigint[], :state::text[],
    :held_at::bigint[], :pace::text[], :above::text[], :blocked_on::text[]
) AS asked
ON CONFLICT (instance_id, node, iteration) DO UPDATE SET
    keys = excluded.keys, own_key = excluded.own_key, own_limit = excluded.own_limit,
    on_full = excluded.on_full, number = excluded.number, rank_class = excluded.rank_class,
    rank = excluded.rank, priority = excluded.priority, deadline = excluded.deadline,
    asked_at = excluded.asked_at, state = excluded.state, blocked_on = excluded.blocked_on,
    held_at = excluded.held_at, pace = excluded.pace, above = excluded.above,
    asked_by = excluded.asked_by;

-- name: slots_passed
-- Part: slots that are given back by the turn that takes them; of requests that are parked the limits
-- that the next pass looks at.
INSERT INTO tenuto.slots_freed (tenant, keys, amount)
SELECT passed.tenant, passed.keys, passed.amount
FROM unnest(:tenant::text[], :keys::text[], :amount::bigint[]) AS passed (tenant, keys, amount);

-- name: slots_counted
-- Part, the gate too: the lock of the limits, if these are the ones that the turn knows.
SELECT 1 FROM tenuto.concurrency
WHERE tenant = '' AND changes = ALL(:changes::bigint[]) FOR UPDATE;

-- name: slots_counted_then
-- Count slots that a turn takes, of limits with room that no row waits for, or that are kept in spite of
-- these. A statement that waited for the lock sees each count as it is then.
INSERT INTO tenuto.slot_counts AS counted (tenant, limit_key, taken)
SELECT wanted.tenant, wanted.limit_key, wanted.amount
FROM unnest(
    :tenant::text[], :limit_key::text[], :amount::bigint[], :most::bigint[]
) AS wanted (tenant, limit_key, amount, most)
WHERE EXISTS (SELECT 1 FROM slots_counted) AND wanted.amount <= wanted.most
ORDER BY wanted.limit_key
ON CONFLICT (limit_key) DO UPDATE SET taken = counted.taken + excluded.taken
WHERE EXISTS (
    SELECT 1
    FROM unnest(:limit_key::text[], :most::bigint[], :passes::bool[]) AS limits (key, most, passes)
    WHERE
        limits.key = excluded.limit_key AND counted.taken + excluded.taken <= limits.most
        AND (counted.is_waited_for = 0 OR limits.passes)
)
RETURNING 1;

-- name: slots_counted_check
-- Whether there is room under every limit.
WHEN (SELECT count(*) FROM slots_counted_then) < cardinality(:limit_key::text[])
    THEN tenuto.contended();

-- name: rank_slots
-- Put waiting instances into another order.
UPDATE tenuto.slots SET rank = CASE
    WHEN :order = 'priority' THEN asked_at - greatest(
        -:most_ahead::numeric, least(:most_ahead::numeric, priority::numeric * :aging::bigint)
    )::bigint
    WHEN :order = 'deadline' THEN coalesce(deadline, asked_at + :later::bigint)
    ELSE asked_at
END
WHERE
    instance_id = ANY(:instance_ids::text[]) AND node = '' AND state <> 'held'
    AND rank_class = :rank_class::bigint;

-- name: forget_freed
-- Delete what a pass has taken back.
DELETE FROM tenuto.slots_freed WHERE number = ANY(:numbers::bigint[]);

-- name: prioritise_slots
-- Give waiting instances a priority.
UPDATE tenuto.slots SET priority = :priority::bigint
WHERE
    instance_id = ANY(:instance_ids::text[]) AND tenant = :tenant
    AND node = '' AND state IN ('waiting', 'settling', 'on-hold');

-- name: hold_back_slots
-- Keep waiting instances from being admitted.
UPDATE tenuto.slots SET state = 'on-hold', blocked_on = ''
WHERE
    instance_id = ANY(:instance_ids::text[]) AND tenant = :tenant
    AND node = '' AND state IN ('waiting', 'settling') AND rank_class > 0;

-- name: paces_of
-- What is known of these keys.
SELECT pace_key, document FROM tenuto.paces WHERE pace_key = ANY(:keys::text[]);

-- name: pace_states
-- What is known of these keys, with the next moment of each.
SELECT pace_key, next_at, document FROM tenuto.paces WHERE pace_key = ANY(:keys::text[]);

-- name: put_paces
-- Set what is known of keys.
INSERT INTO tenuto.paces (tenant, pace_key, next_at, kept_until, document)
SELECT pace.*
FROM unnest(
    :tenant::text[], :pace_key::text[], :next_at::bigint[], :kept_until::bigint[], :document::text[]
) AS pace
ON CONFLICT (pace_key) DO UPDATE SET
    next_at = excluded.next_at, kept_until = excluded.kept_until, document = excluded.document;

-- name: drop_paces
-- Forget keys.
DELETE FROM tenuto.paces WHERE pace_key = ANY(:keys::text[]);

-- name: calm_paces
-- No row waits for these keys any more.
UPDATE tenuto.paces SET next_at = NULL WHERE pace_key = ANY(:keys::text[]);

-- name: move_slots
-- Move debounced requests.
UPDATE tenuto.slots AS slot SET state = moved.state, blocked_on = moved.blocked_on
FROM unnest(:instance_id::text[], :state::text[], :blocked_on::text[]) AS moved (
    instance_id, state, blocked_on
)
WHERE
    slot.instance_id = moved.instance_id AND slot.node = '' AND slot.iteration = ''
    AND slot.state || '' = 'settling';

-- name: lines_waited_for
-- Of these limits and of those with slots that were freed: how many slots are taken, and some tenants with rows that are
-- parked on it, those first whose turn is next; with the turn of each, and how many slots it has. The last row of a limit
-- has no tenant.
-- A range of one key, in the order of the index: with "= key", or with min(), PostgreSQL may read every row that waits.
WITH RECURSIVE named (key) AS (
    SELECT unnest(:keys::text[])
    UNION
    SELECT name.key FROM (
        SELECT keys FROM tenuto.slots_freed ORDER BY number LIMIT :limit
    ) AS freed
    CROSS JOIN LATERAL jsonb_array_elements_text(freed.keys::jsonb) AS name (key)
),

line (key, tenant) AS (
    SELECT
        named.key,
        (
            SELECT slot.tenant FROM tenuto.slots AS slot
            WHERE slot.state = 'waiting' AND slot.blocked_on >= named.key AND slot.blocked_on <= named.key
            ORDER BY slot.blocked_on, slot.tenant LIMIT 1
        )
    FROM named
    UNION ALL
    SELECT
        line.key,
        (
            SELECT slot.tenant FROM tenuto.slots AS slot
            WHERE
                slot.state = 'waiting' AND (slot.blocked_on, slot.tenant) > (line.key, line.tenant)
                AND slot.blocked_on <= line.key
            ORDER BY slot.blocked_on, slot.tenant LIMIT 1
        )
    FROM line WHERE line.tenant IS NOT NULL
),

placed AS (
    SELECT
        line.key, line.tenant, turn.taken AS turn,
        row_number() OVER (
            PARTITION BY line.key
            ORDER BY
                line.tenant IS NULL, greatest(turn.taken, newest.taken, 0), head.rank_class, head.rank,
                line.tenant
        ) AS place
    FROM line
    LEFT JOIN tenuto.slot_counts AS turn ON turn.limit_key = 'turn:' || line.tenant
    LEFT JOIN tenuto.slot_counts AS newest ON newest.limit_key = 'turn:'
    LEFT JOIN LATERAL (
        SELECT slot.rank_class, slot.rank FROM tenuto.slots AS slot
        WHERE
            slot.state = 'waiting' AND slot.blocked_on >= line.key AND slot.blocked_on <= line.key
            AND slot.tenant = line.tenant
        ORDER BY slot.blocked_on, slot.tenant, slot.rank_class, slot.rank LIMIT 1
    ) AS head ON TRUE
)

SELECT
    placed.key, counted.taken, counted.is_waited_for,
    placed.tenant, placed.turn, own.taken AS own_taken, own.is_waited_for AS is_own_waited_for
FROM placed
LEFT JOIN tenuto.slot_counts AS counted ON counted.limit_key = placed.key
LEFT JOIN tenuto.slot_counts AS own ON own.limit_key = 'tenant:' || placed.tenant
WHERE placed.tenant IS NULL OR placed.place <= :most_tenants::bigint
ORDER BY placed.key, placed.place;

-- name: keys_waited_for
-- Those of these limits on which a row is parked.
SELECT wanted.key FROM unnest(:keys::text[]) AS wanted (key)
CROSS JOIN LATERAL (
    SELECT 1 FROM tenuto.slots AS slot
    WHERE slot.state = 'waiting' AND slot.blocked_on = wanted.key LIMIT 1
) AS found;

-- name: counts_of
-- How many slots of these limits are taken.
SELECT limit_key, taken, is_waited_for FROM tenuto.slot_counts WHERE limit_key = ANY(:keys::text[]);

-- name: slots_held_by
-- The limits of the slots that these instances hold.
SELECT instance_id, keys FROM tenuto.slots
WHERE
    instance_id = ANY(:instance_ids::text[]) AND node = '' AND iteration = ''
    AND state || '' = 'held';

-- name: lines_of
-- How many rows of a tenant are parked on each of these limits, each up to so many.
SELECT wanted.key, found.waiting FROM unnest(:keys::text[]) AS wanted (key)
CROSS JOIN LATERAL (
    SELECT count(*) AS waiting FROM (
        SELECT 1 FROM tenuto.slots AS slot
        WHERE slot.state = 'waiting' AND slot.blocked_on = wanted.key AND slot.tenant = :tenant
        LIMIT :most
    ) AS line
) AS found;

-- name: lock_slots
-- The states of these rows; those that a turn is deleting are left out.
SELECT slot.instance_id, slot.node, slot.iteration, slot.state
FROM unnest(:instance_ids::text[], :nodes::text[], :iterations::text[]) AS wanted (
    instance_id, node, iteration
)
INNER JOIN tenuto.slots AS slot
    ON
        slot.instance_id = wanted.instance_id AND slot.node = wanted.node
        AND slot.iteration = wanted.iteration
FOR UPDATE OF slot SKIP LOCKED;

-- name: hold_slots
-- Grant slots; gives those that are. Rows that a turn is deleting, or has replaced, are left out.
UPDATE tenuto.slots AS slot SET state = 'held', blocked_on = '', held_at = :now::bigint
FROM (
    SELECT waiting.instance_id, waiting.node, waiting.iteration
    FROM unnest(
        :instance_ids::text[], :nodes::text[], :iterations::text[], :numbers::bigint[]
    ) AS granted (instance_id, node, iteration, number)
    INNER JOIN tenuto.slots AS waiting
        ON
            waiting.instance_id = granted.instance_id AND waiting.node = granted.node
            AND waiting.iteration = granted.iteration AND waiting.number = granted.number
            AND waiting.state || '' = 'waiting'
    FOR UPDATE OF waiting SKIP LOCKED
) AS locked
WHERE
    slot.instance_id = locked.instance_id AND slot.node = locked.node
    AND slot.iteration = locked.iteration
RETURNING slot.instance_id, slot.node, slot.iteration;

-- name: withdraw_grants
-- Delete mailbox messages of a pass to instances whose rows were given up meanwhile.
DELETE FROM tenuto.mailbox AS mail
USING unnest(:ids::text[], :instance_ids::text[]) AS withdrawn (id, instance_id)
WHERE mail.id = withdrawn.id AND mail.instance_id = withdrawn.instance_id;

-- name: set_slots_aside
-- Let rows wait no longer whose instances are about to end.
UPDATE tenuto.slots AS slot SET state = 'ended', blocked_on = ''
FROM unnest(:instance_ids::text[], :nodes::text[], :iterations::text[]) AS ended (
    instance_id, node, iteration
)
WHERE
    slot.instance_id = ended.instance_id AND slot.node = ended.node
    AND slot.iteration = ended.iteration;

-- name: park_slots
-- Park rows on limits that are full.
UPDATE tenuto.slots AS slot SET blocked_on = parked.blocked_on
FROM unnest(
    :instance_id::text[], :node::text[], :iteration::text[], :blocked_on::text[]
) AS parked (instance_id, node, iteration, blocked_on)
WHERE
    slot.instance_id = parked.instance_id AND slot.node = parked.node
    AND slot.iteration = parked.iteration;

-- name: put_counts
-- Set how many slots of limits are taken.
INSERT INTO tenuto.slot_counts (tenant, limit_key, taken, is_waited_for)
SELECT counted.*
FROM unnest(
    :tenant::text[], :limit_key::text[], :taken::bigint[], :is_waited_for::bigint[]
) AS counted
ON CONFLICT (limit_key) DO UPDATE SET
    taken = excluded.taken, is_waited_for = excluded.is_waited_for;

-- name: forget_counts
-- Delete the counts of limits of which no slot is taken, and that no row waits for.
DELETE FROM tenuto.slot_counts WHERE limit_key = ANY(:keys::text[]);
