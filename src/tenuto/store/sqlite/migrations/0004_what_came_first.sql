-- Oldest program: 4
--
-- Whether a wait was open when an event was stored is a matter of order, not of clocks: a wait says
-- which event was the newest when it opened. And a process that starts with its clock set back is
-- told how far time had come.

ALTER TABLE workflow_event_subscriptions ADD COLUMN follows INTEGER NOT NULL DEFAULT 0;
UPDATE workflow_event_subscriptions
SET follows = (SELECT coalesce(max(number), 0) FROM events);

ALTER TABLE processes ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
UPDATE processes SET seen_at = max(
    started_at,
    coalesce(stopped_at, 0),
    coalesce((SELECT max(received_at) FROM events), 0),
    coalesce((SELECT max(created_at) FROM workflow_instances), 0)
);
