"""Timers, each of which comes to one living process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.columns import TimerColumns, timer_row
from tenuto.store.parts.timers import TimerRow, Timers
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.queries import Column


class PostgresTimers(Timers):
    """Timers in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, now: datetime, limit: int) -> tuple[list[TimerRow], datetime | None]:
        claim: dict[str, Column] = {
            "process_id": self._database.require_writer(),
            "now": epoch_ms(now),
            "limit": limit,
            **self._database.passing_over,
        }
        found = await self._database.pool.rows("claim_timers", claim)
        due = sorted((TimerColumns._make(row) for row in found if row[0] is not None), key=_order)
        following = [from_epoch_ms(row[4]) for row in found if row[0] is None]
        return [timer_row(each) for each in due], following[0] if following else None

    async def of(self, instance_ids: Sequence[str]) -> list[TimerRow]:
        found = await self._database.connections.rows("timers_of", {"ids": list(instance_ids)})
        return [timer_row(TimerColumns._make(row)) for row in found]


def _order(timer: TimerColumns) -> tuple[int, str, str, str, str]:
    return timer.due, timer.instance_id, timer.kind, timer.node, timer.iteration
