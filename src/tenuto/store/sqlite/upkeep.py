"""Figures about a file, for metrics and operators."""

from __future__ import annotations

from datetime import datetime

from tenuto.model.durations import epoch_ms
from tenuto.store.columns import depths_of
from tenuto.store.erasing import ACTIVE
from tenuto.store.parts.upkeep import (
    COUNTED,
    STORED,
    WEIGHED,
    Depths,
    Place,
    RowSecurity,
    Stored,
    Weighed,
    Weight,
    weighing,
)
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
        return depths_of(session.packed("depths", asked))

    @looks
    def stored(self, session: Session, what: Stored, tenant: str, most: int) -> int:
        asked: dict[str, Column] = {"tenant": tenant, "most": most}
        if what == "instances":
            asked["statuses"] = as_json(ACTIVE)
        return int(session.rows(STORED[what], asked)[0][0])

    @looks
    def weigh(
        self,
        session: Session,
        what: Weighed,
        tenant: str,
        *,
        after: Place,
        until: datetime,
        limit: int,
    ) -> Weight:
        asked: dict[str, Column] = {**weighing(tenant, after, until, limit)}
        size, last = session.packed(WEIGHED[what], asked)
        return Weight(size, Place(*last) if last else None)

    @looks
    def tenants(self, session: Session) -> list[str]:
        return session.packed("tenants")
