"""How much waits in a database."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.columns import from_ms
from tenuto.store.erasing import ACTIVE
from tenuto.store.postgres.pool import Pool
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
