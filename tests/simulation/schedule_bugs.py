"""Bugs of schedules as people make them, each in another mechanism."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from tenuto.calendars import WorkingCalendar
from tenuto.engine.effects import mailbox_starts
from tenuto.engine.schedules import firing, work
from tenuto.engine.schedules.firing import Asked, Firing, Found
from tenuto.engine.schedules.open_ticks import OpenTicks, Running
from tenuto.schedules import Bounds, Due, Schedule, due
from tenuto.store.parts.schedules import Fire, ScheduleKey, ScheduleRow, Schedules, TickRow

Bug = Callable[[], AbstractContextManager[Any]]


@contextmanager
def started_before_it_is_recorded() -> Iterator[None]:
    """The instance is started first, under an id of its own, and the schedule advanced after it."""
    numbers = count(1)
    fire = Schedules.fire

    async def in_two(self: Schedules, fires: Sequence[Fire]) -> set[ScheduleKey]:
        for each in fires:
            there = await self.get(each.row.tenant, each.row.id)
            if there is not None and each.mail:
                await fire(self, [Fire(row=_after(there), mail=each.mail)])
        again = [replace(each, mail=()) for each in fires]
        return await fire(self, await _newest(self, again))

    def own_id(_tenant: str, _id: str, _nominal: datetime) -> str:
        return f"00000000-0000-7000-8000-{next(numbers):012}"

    with (
        patch.object(Schedules, "fire", in_two),
        patch.object(work, "scheduled_id", own_id),
        patch.object(mailbox_starts, "tick_key", lambda *_: f"key {next(numbers)}"),
    ):
        yield


@contextmanager
def the_last_one_wins() -> Iterator[None]:
    """Schedules are advanced from whatever version they have."""
    fire = Schedules.fire

    async def careless(self: Schedules, fires: Sequence[Fire]) -> set[ScheduleKey]:
        return await fire(self, await _newest(self, fires))

    with patch.object(Schedules, "fire", careless):
        yield


@contextmanager
def begins_with_the_present() -> Iterator[None]:
    """After a restart only what comes from now on is due."""

    def forgetful(
        schedule: Schedule,
        calendar: WorkingCalendar | None,
        handled: datetime,
        now: datetime,
        bounds: Bounds,
    ) -> Due:
        return due(schedule, calendar, max(handled, now - timedelta(minutes=1)), now, bounds)

    with patch.object(firing, "due", forgetful):
        yield


@contextmanager
def a_little_early() -> Iterator[None]:
    """Ticks are due two minutes before their time."""
    decided, find = Firing.decided, Schedules.due
    ahead = timedelta(minutes=2)

    async def hasty(
        self: Firing,
        row: ScheduleRow,
        running: Running,
        now: datetime,
        asked: Asked | None = None,
        *,
        found: Found | None = None,
    ) -> Fire:
        return await decided(self, row, running, now + ahead, asked, found=found)

    async def sooner(
        self: Schedules,
        now: datetime,
        limit: int,
        *,
        most_bytes: int,
        behind: ScheduleRow | None,
    ) -> list[ScheduleRow]:
        return await find(self, now + ahead, limit, most_bytes=most_bytes, behind=behind)

    with patch.object(Firing, "decided", hasty), patch.object(Schedules, "due", sooner):
        yield


@contextmanager
def overlaps_are_not_seen() -> Iterator[None]:
    """What is still in the mailbox, or runs elsewhere, does not count as running."""

    async def blind(
        self: OpenTicks, keys: Collection[ScheduleKey], *, all_of: Collection[ScheduleKey]
    ) -> dict[ScheduleKey, object]:
        _ = self, keys, all_of
        return {}

    with patch.object(OpenTicks, "of", blind):
        yield


@contextmanager
def ends_are_not_noticed() -> Iterator[None]:
    """Ticks stay open for ever, unless this process saw the end."""
    settle = OpenTicks._settle

    async def trusting(
        self: OpenTicks, here: Running, tick: TickRow, waiting: set[str], statuses: dict[str, bool]
    ) -> None:
        before = len(here.changed)
        await settle(self, here, tick, waiting, statuses)
        del here.changed[before:]

    async def nothing(*_: object) -> None: ...

    with patch.object(OpenTicks, "_settle", trusting), patch.object(Schedules, "close", nothing):
        yield


def _after(row: ScheduleRow) -> ScheduleRow:
    return replace(row, version=row.version + 1)


async def _newest(schedules: Schedules, fires: Sequence[Fire]) -> list[Fire]:
    found: list[Fire] = []
    for each in fires:
        there = await schedules.get(each.row.tenant, each.row.id)
        version = each.row.version if there is None else there.version + 1
        found.append(replace(each, row=replace(each.row, version=version)))
    return found
