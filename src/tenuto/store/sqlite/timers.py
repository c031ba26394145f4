"""Timers that are rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.columns import TimerColumns, timer_row
from tenuto.store.parts.timers import TimerRow
from tenuto.store.sqlite.part import SqlitePart, looks
from tenuto.store.sqlite.session import Session, as_json


class SqliteTimers(SqlitePart):
    """Timers in a table of the file."""

    @looks
    def due(
        self, session: Session, now: datetime, limit: int
    ) -> tuple[list[TimerRow], datetime | None]:
        timers = [TimerColumns(*row) for row in session.packed("first_timers", (limit + 1,))]
        moment = epoch_ms(now)
        due = [timer_row(timer) for timer in timers[:limit] if timer.due <= moment]
        following = timers[len(due) :]
        return due, from_epoch_ms(following[0].due) if following else None

    @looks
    def of(self, session: Session, instance_ids: Sequence[str]) -> list[TimerRow]:
        found = session.packed("timers_of", (as_json(list(dict.fromkeys(instance_ids))),))
        return [timer_row(timer) for timer in sorted(TimerColumns(*row) for row in found)]
