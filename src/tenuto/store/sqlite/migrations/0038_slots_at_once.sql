-- Oldest program: 38
--
-- Turns take slots where there is room and no row waits: each count says whether rows wait for its
-- limit, and the limits have one number of their newest change. Waiting rows are put into another order
-- page by page.

ALTER TABLE slot_counts ADD COLUMN is_waited_for INTEGER NOT NULL DEFAULT 0;

ALTER TABLE concurrency ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;

ALTER TABLE concurrency ADD COLUMN ranked_to TEXT;

INSERT INTO slot_counts (tenant, limit_key, taken, is_waited_for)
SELECT DISTINCT '', blocked_on, 0, 1 FROM slots WHERE state = 'waiting' AND blocked_on > ''
ON CONFLICT (limit_key) DO UPDATE SET is_waited_for = 1;

UPDATE concurrency SET changes = (SELECT sum(version) FROM concurrency) WHERE tenant = '';
