"""Timers: a flood of due ones is taken a batch at a time, and each fires once."""

from __future__ import annotations

import pytest

from tenuto.engine.requests import Request
from tenuto.engine.timekeeper import BATCH, Timekeeper
from tenuto.model.inputs import TimerDue, TimerKey, TimerKind
from tenuto.ports import SystemClock
from tenuto.store.memory import MemoryStore
from tenuto.store.protocol import TimerRow

pytestmark = pytest.mark.asyncio


async def test_a_flood_of_due_timers_is_read_once_each() -> None:
    clock = SystemClock()
    now = clock.now()
    key = TimerKey(TimerKind.DELAY, "nap")
    stored = [TimerRow(instance_id=f"{n:05}", key=key, due=now) for n in range(5 * BATCH)]
    read = 0

    class Flood(MemoryStore):
        async def due_timers(self, now, limit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            nonlocal read
            rows, rest = stored[:limit], stored[limit:]
            read += len(rows)
            return rows, rest[0].due if rest else None

    reported: list[Request] = []
    timekeeper = Timekeeper(Flood(), clock, reported.append)
    fired: list[str] = []
    while stored:
        await timekeeper.run_once()
        assert len(reported) <= BATCH
        for request in reported:
            assert isinstance(request.input, TimerDue)
            fired.append(request.instance_id)
            timekeeper.decided(request.instance_id, request.input, None)
        stored = [row for row in stored if row.instance_id not in set(fired)]
        reported.clear()
    assert fired == sorted(set(fired))
    assert len(fired) == read == 5 * BATCH
