"""Figures about a file, for metrics and operators."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.columns import from_ms
from tenuto.store.erasing import ACTIVE
from tenuto.store.parts.upkeep import COUNTED, Depths, RowSecurity
from tenuto.store.sqlite.part import SqlitePart, looks
from tenuto.store.sqlite.session import Column, Session, as_json


class SqliteUpkeep(SqlitePart):
    """How much waits in the file."""

    async def row_security(self) -> RowSecurity | None:
        return None

    @looks
    def depths(self, session: Session, now: datetime) -> Depths:
        asked: dict[str, Column] = {
            "now": epoch_ms(now),
            "most": COUNTED,
            "statuses": as_json(ACTIVE),
        }
        found = session.packed("depths", asked)
        active, waits, mail, jobs, timers, untold, postings = found[:7]
        oldest = [from_ms(moment) for moment in found[7:]]
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
        )

    @looks
    def tenants(self, session: Session) -> list[str]:
        return session.packed("tenants")
