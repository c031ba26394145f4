-- Oldest program: 29
--
-- Turns take slots where there is room and no row waits: each count says whether rows wait for its
-- limit, and the limits have one number of their newest change. Waiting rows are put into another order
-- page by page.

ALTER TABLE tenuto.slot_counts ADD COLUMN is_waited_for bigint NOT NULL DEFAULT 0;

ALTER TABLE tenuto.concurrency ADD COLUMN changes bigint NOT NULL DEFAULT 0;

ALTER TABLE tenuto.concurrency ADD COLUMN ranked_to text COLLATE "C";

INSERT INTO tenuto.slot_counts (tenant, limit_key, taken, is_waited_for)
SELECT DISTINCT '', blocked_on, 0, 1 FROM tenuto.slots WHERE state = 'waiting' AND blocked_on > ''
ON CONFLICT (limit_key) DO UPDATE SET is_waited_for = 1;

UPDATE tenuto.concurrency SET changes = (SELECT sum(version) FROM tenuto.concurrency)
WHERE tenant = '';

SELECT tenuto.raise_wall();

-- Made, and removed, by it:
-- + column concurrency changes bigint
-- + column concurrency ranked_to text
-- + column slot_counts is_waited_for bigint
