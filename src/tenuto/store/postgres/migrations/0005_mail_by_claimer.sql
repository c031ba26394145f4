-- Oldest program: 5
--
-- Letters are found by who has them: whoever looks reads those that are nobody's, those that were
-- passed on to it and that it has not seen, and those of the dead; never what others have in hand.
-- A guest says so: it takes no letters, and nobody need wait for it.

ALTER TABLE tenuto.mailbox ADD COLUMN is_unseen boolean NOT NULL DEFAULT false;

CREATE INDEX mailbox_unclaimed ON tenuto.mailbox (number) WHERE claimed_by IS NULL;
CREATE INDEX mailbox_by_claimer ON tenuto.mailbox (claimed_by, is_unseen, number)
WHERE claimed_by IS NOT NULL;

ALTER TABLE tenuto.processes ADD COLUMN is_guest boolean NOT NULL DEFAULT false;

-- Made, and removed, by it:
-- + column mailbox is_unseen boolean
-- + column processes is_guest boolean
-- + index mailbox mailbox_by_claimer
-- + index mailbox mailbox_unclaimed
