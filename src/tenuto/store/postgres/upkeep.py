"""How much waits in a database, and forgetting instances that have ended."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.columns import from_ms
from tenuto.store.erasing import ACTIVE, erasable
from tenuto.store.outbox_columns import share_of
from tenuto.store.postgres.outbox import together
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.session import Transaction
from tenuto.store.upkeep_protocol import COUNTED, Depths


async def depths(pool: Pool, now: datetime) -> Depths:
    # Asked before a connection is taken for the look itself.
    size, in_use = pool.size, pool.in_use
    asked = {"now": epoch_ms(now), "most": COUNTED, "statuses": list(ACTIVE)}
    [row] = await pool.rows("depths", asked)
    active, waits, mail, jobs, timers, untold, postings = row[:7]
    oldest = [from_ms(moment) for moment in row[7:]]
    return Depths(
        active=active,
        waits=waits,
        mail=mail,
        jobs=jobs,
        timers_due=timers,
        untold=untold,
        postings=postings,
        oldest_mail=oldest[0],
        oldest_job=oldest[1],
        oldest_timer=oldest[2],
        oldest_untold=oldest[3],
        oldest_posting=oldest[4],
        connections=size,
        connections_in_use=in_use,
    )


async def erase_instances(
    pool: Pool, tenant: str, ids: Collection[str], *, with_dead_letters: bool, dry_run: bool
) -> list[str]:
    async def work(transaction: Transaction) -> list[str]:
        # Whoever would go on with one of them waits, and finds that it is gone; and whoever has
        # done so before is seen by the statement after this.
        named = {"ids": list(ids), "tenant": tenant}
        roots = [id for (id,) in await transaction.rows("lock_roots", named)]
        if not roots:
            return []
        below = await transaction.rows("lock_children", {"ids": roots})
        members = [(root, root) for root in roots] + [(root, id) for root, id in below]
        asked = {
            "ids": [id for _, id in members],
            "shares": [share_of(id) for _, id in members],
            "with_dead_letters": with_dead_letters,
        }
        busy = {id for (id,) in await transaction.rows("busy_instances", asked)}
        families = erasable((root, id, id not in busy) for root, id in members)
        if families and not dry_run:
            gone = [id for family in families.values() for id in family]
            await transaction.rows("erase_instances", {"ids": gone})
        return sorted(families)

    return await together(pool, work)
