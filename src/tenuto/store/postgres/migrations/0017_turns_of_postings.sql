-- Oldest program: 16
--
-- What is on its way to a listener goes out by turns: what was never tried, and what did not arrive.

CREATE INDEX webhook_deliveries_untried
    ON tenuto.webhook_deliveries (listener_id, due, number) WHERE due IS NOT NULL AND attempts = 0;

CREATE INDEX webhook_deliveries_tried
    ON tenuto.webhook_deliveries (listener_id, due, number) WHERE due IS NOT NULL AND attempts > 0;

-- Made, and removed, by it:
-- + index webhook_deliveries webhook_deliveries_tried
-- + index webhook_deliveries webhook_deliveries_untried
