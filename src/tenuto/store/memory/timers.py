"""Timers, over tables in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from heapq import nsmallest

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.columns import TimerColumns, timer_row
from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import unpack
from tenuto.store.parts.timers import TimerRow


class MemoryTimers(MemoryPart):
    """Timers by instance and key."""

    async def due(self, now: datetime, limit: int) -> tuple[list[TimerRow], datetime | None]:
        context, moment = self._context, epoch_ms(now)
        timers = (
            unpack(TimerColumns, row)
            for key, row in self._disk.timers.items()
            if not context.passes_over(key[0]) and context.may_claim(key)
        )
        first = nsmallest(limit + 1, timers, key=lambda timer: (timer.due, timer))
        due = [timer_row(timer) for timer in first[:limit] if timer.due <= moment]
        context.claim(timer[:4] for timer in first[: len(due)])
        following = first[len(due) :]
        return due, from_epoch_ms(following[0].due) if following else None

    async def of(self, instance_ids: Sequence[str]) -> list[TimerRow]:
        wanted = set(instance_ids)
        found = (unpack(TimerColumns, row) for row in self._disk.timers.values())
        return [timer_row(timer) for timer in sorted(found) if timer.instance_id in wanted]
