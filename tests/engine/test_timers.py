"""Timers: a flood of due ones is taken a batch at a time, and each fires once."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tenuto import NotFound, Tenuto
from tenuto.engine.definitions.plans import Deployed
from tenuto.engine.effects.timekeeper import Timekeeper
from tenuto.engine.turns.requests import Request
from tenuto.model.inputs import TimerDue, TimerKey, TimerKind
from tenuto.model.json import Object
from tenuto.ports import SystemClock
from tenuto.store.parts.timers import TimerRow
from tenuto.testing.wrapped_store import Call
from tests.kit.scripted_store import ScriptedStore

pytestmark = pytest.mark.asyncio

BATCH = 20


async def test_a_flood_of_due_timers_is_read_once_each() -> None:
    clock = SystemClock()
    now = clock.now()
    key = TimerKey(TimerKind.DELAY, "nap")
    stored = [TimerRow(instance_id=f"{n:05}", key=key, due=now) for n in range(5 * BATCH)]
    read = 0

    class Flood(ScriptedStore):
        async def on_timers_due(self, call: Call) -> object:
            limit = call.args[1]
            nonlocal read
            rows, rest = stored[:limit], stored[limit:]
            read += len(rows)
            return rows, rest[0].due if rest else None

    reported: list[Request] = []
    timekeeper = Timekeeper(Flood(), clock, reported.append, batch=BATCH)
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


async def test_a_timer_that_was_set_aside_is_forgotten_once_it_is_gone() -> None:
    clock = SystemClock()
    key = TimerKey(TimerKind.DELAY, "nap")
    stored = [TimerRow(instance_id=f"i{n}", key=key, due=clock.now()) for n in range(3)]

    class Rows(ScriptedStore):
        async def on_timers_due(self, call: Call) -> object:
            limit = call.args[1]
            return stored[:limit], None

    reported: list[Request] = []
    timekeeper = Timekeeper(Rows(), clock, reported.append)
    await timekeeper.run_once()
    for request in reported:
        assert isinstance(request.input, TimerDue)
        timekeeper.park(request.instance_id, request.input)
    for left in (3, 1, 0):
        del stored[left:]
        timekeeper.look()
        assert await timekeeper.run_once() == 0
        assert len(timekeeper._parked) == left


async def test_timers_of_unknown_kinds_are_logged_once_for_each_kind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = SystemClock()
    keys = [
        TimerKey(TimerKind.GO_ON, "of-a-newer-program:nap"),
        TimerKey(TimerKind.GO_ON, "of-a-newer-program:other"),
        TimerKey(TimerKind.GO_ON),
        TimerKey(TimerKind.DELAY, "of-a-user:nap"),
    ]
    rows = [TimerRow(instance_id=f"i{n}", key=key, due=clock.now()) for n, key in enumerate(keys)]

    class Rows(ScriptedStore):
        async def on_timers_due(self, _: Call) -> object:
            return rows, None

    timekeeper = Timekeeper(Rows(), clock, lambda _: None)
    for _ in range(2):
        await timekeeper.run_once()
        timekeeper.let_all_go()
    [line] = [each.getMessage() for each in caplog.records]
    assert line.startswith("instance=i0: timers of the kind of-a-newer-program are unknown here")


class TwoHoursLater(SystemClock):
    """Shows what the machine's clock will show then."""

    def now(self) -> datetime:
        return super().now() + timedelta(hours=2)


def hour_of(id: str) -> Object:
    return {"id": id, "steps": [{"stepId": "nap", "type": "DELAY", "duration": "PT1H"}]}


async def test_timers_of_instances_that_cannot_be_read_hold_up_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    async with Tenuto(url) as app:
        await app.deploy(hour_of("lost"))
        await app.deploy(hour_of("kept"))
        await asyncio.gather(*(app.start("lost") for _ in range(BATCH + 1)))
        kept = await app.start("kept")
    again = Tenuto(url, clock=TwoHoursLater())
    plan_of = again.engine.plans.get

    async def without_lost(tenant: str, id: str, version: int | None = None) -> Deployed:
        if id == "lost":
            raise NotFound("there is no workflow lost")
        return await plan_of(tenant, id, version)

    monkeypatch.setattr(again.engine.plans, "get", without_lost)
    async with again:
        await (await again.instance(kept.id)).result(10)
