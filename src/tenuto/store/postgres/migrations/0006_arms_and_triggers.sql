-- Oldest program: 6
--
-- Waits for the first of several events, and triggers.
SELECT 1;
