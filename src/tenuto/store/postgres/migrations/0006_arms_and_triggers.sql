-- Oldest program: 6
--
-- One wait may be open for several events, and events cancel and start instances too: beside waits
-- there are triggers, told apart by their arm. What became of an event says by which of them it came,
-- is found by the event, and says why it was refused. An event says how many it cancelled and started.

ALTER TABLE tenuto.workflow_event_subscriptions
    ADD COLUMN arm text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN position bigint NOT NULL DEFAULT 0,
    DROP CONSTRAINT workflow_event_subscriptions_pkey,
    ADD PRIMARY KEY (instance_id, node, iteration, arm);

DROP INDEX tenuto.workflow_event_subscriptions_by_term;
CREATE INDEX workflow_event_subscriptions_by_term
    ON tenuto.workflow_event_subscriptions
    (tenant, pattern, term_paths, term_values, instance_id, node, iteration, arm);
DROP INDEX tenuto.workflow_event_subscriptions_unlooked;
CREATE INDEX workflow_event_subscriptions_unlooked
    ON tenuto.workflow_event_subscriptions (instance_id, node, iteration, arm)
    WHERE looked_back = 0;

ALTER TABLE tenuto.events
    ADD COLUMN cancelled bigint NOT NULL DEFAULT 0,
    ADD COLUMN started bigint NOT NULL DEFAULT 0,
    ADD COLUMN chain bigint NOT NULL DEFAULT 0;

ALTER TABLE tenuto.event_deliveries
    ADD COLUMN arm text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN reason text COLLATE "C",
    DROP CONSTRAINT event_deliveries_pkey,
    ADD PRIMARY KEY (instance_id, node, iteration, arm, event_id);

CREATE INDEX event_deliveries_by_event ON tenuto.event_deliveries (event_id);

-- Made, and removed, by it:
-- + column event_deliveries arm text
-- + column event_deliveries reason text
-- + column events cancelled bigint
-- + column events chain bigint
-- + column events started bigint
-- + column workflow_event_subscriptions arm text
-- + column workflow_event_subscriptions position bigint
-- + index event_deliveries event_deliveries_by_event
-- + key event_deliveries instance_id,node,iteration,arm,event_id primary
-- + key workflow_event_subscriptions instance_id,node,iteration,arm primary
-- - key event_deliveries instance_id,node,iteration,event_id primary
-- - key workflow_event_subscriptions instance_id,node,iteration primary
