"""Finds schedules for what users ask: one by its id, brought up to the present, and what it ran."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from tenuto.definition.report import did_you_mean
from tenuto.engine.schedules.checks import Checks
from tenuto.engine.schedules.firing import Firing
from tenuto.engine.shared import Shared
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem
from tenuto.model.family import scheduled_id
from tenuto.model.ids import start_letter
from tenuto.schedules import Schedule, Unsearched, count_in_parts, find_start
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.schedules import ScheduleRow

MOST_TRIES = 20
"""So often a change is tried that others overtake."""
_NEWEST = 500
"""So many ticks are looked at for those that were started."""
_MILLISECOND = timedelta(milliseconds=1)
MOST_LOOKED = 100_000
"""So many candidates one count looks at: years of the most spans of working time that there may be,
or centuries of a time each day."""
_PART_SECONDS = 0.005
_LONGEST_REST = 0.02
"""Seconds between two parts of a count, while others are at work."""


class CountedTimes(NamedTuple):
    """How many nominal times there are in a range."""

    found: int
    is_all: bool
    """Whether no budget ended the count before."""


class Lookup:
    """The schedules of all tenants."""

    def __init__(self, shared: Shared, checks: Checks, firing: Firing) -> None:
        self._store = shared.store
        self._clock = shared.clock
        self._sharing = shared.sharing
        self._checks = checks
        self._firing = firing

    async def get(self, tenant: str, id: str) -> ScheduleRow:
        """A schedule; NotFound."""
        found = await self._store.schedules.get(tenant, id)
        if found is None:
            names = await self._store.schedules.ids(tenant, _NEWEST)
            advice = did_you_mean(id, names, "`tenuto schedules list` shows the schedules.")
            raise NotFound(f"there is no schedule {id}", code="TEN-3080", advice=advice)
        return found

    async def nominal_times(
        self, tenant: str, id: str, start: datetime, end: datetime, limit: int
    ) -> list[datetime]:
        """The first nominal times from `start` to `end` that are not skipped; NotFound.

        It lets the loop go on now and then.
        """
        schedule = self.sound(await self.get(tenant, id))
        calendar = await self._checks.calendar(tenant, schedule)
        found: list[datetime] = []
        after = start - _MILLISECOND
        began = self._clock.ticks()
        while len(found) < limit and after < end:
            tick = find_start(schedule, calendar, after)
            if isinstance(tick, Unsearched):
                after = tick.until
            elif tick is None or tick.nominal > end:
                break
            else:
                found.append(tick.nominal)
                after = tick.nominal
            if self._clock.ticks() - began > _PART_SECONDS:
                began = await self._let_go_on(tenant, began)
        return found

    async def count_times(
        self, tenant: str, id: str, start: datetime, end: datetime, most: int
    ) -> CountedTimes:
        """How many nominal times from `start` to `end` are not skipped; NotFound.

        It ends once there are `most`, or at its budget. It lets the loop go on after each part.
        """
        schedule = self.sound(await self.get(tenant, id))
        calendar = await self._checks.calendar(tenant, schedule)
        found = looked = 0
        parts = count_in_parts(schedule, calendar, start - _MILLISECOND, end)
        began = self._clock.ticks()
        for part in parts:
            found += part.found
            looked += part.looked
            if found >= most:
                return CountedTimes(most, is_all=True)
            if looked >= MOST_LOOKED:
                return CountedTimes(found, is_all=False)
            began = await self._let_go_on(tenant, began)
        return CountedTimes(found, is_all=True)

    async def _let_go_on(self, tenant: str, began: float) -> float:
        """Let others go on after a part of work; returns when the next part begins."""
        took = self._clock.ticks() - began
        rest = self._sharing.rest_after(took, tenant, _LONGEST_REST, is_in_loop=True)
        await self._clock.sleep(rest)
        return self._clock.ticks()

    async def running(self, tenant: str, id: str, nominals: Collection[datetime]) -> set[datetime]:
        """Those of these ticks whose instances are to be started, or have not ended."""
        ids = {scheduled_id(tenant, id, nominal): nominal for nominal in nominals}
        if not ids:
            return set()
        letters = [MailKey(start_letter(each), each) for each in sorted(ids)]
        starting = {key.instance_id for key in await self._store.mailbox.waiting(letters)}
        query = InstanceQuery(ids=tuple(sorted(ids)), tenant=tenant, limit=len(ids))
        rows = (await self._store.instances.page(query)).items
        over = {row.id for row in rows if row.status.is_final}
        return {ids[each] for each in (starting | {row.id for row in rows}) - over}

    async def started(self, tenant: str, id: str) -> set[datetime]:
        """The newest nominal times that were started, perhaps while it was paused."""
        ticks = await self._store.schedules.ticks(tenant, id, _NEWEST)
        return {each.nominal for each in ticks if each.outcome == "started"}

    async def advanced(self, row: ScheduleRow) -> ScheduleRow:
        """A schedule after what was due: a change is about what comes after it."""
        now = self._clock.now()
        if row.next_at is not None and row.next_at <= now and row.status == "active":
            await self._firing.advance([row], now)
            return await self.get(row.tenant, row.id)
        return row

    def of(self, row: ScheduleRow) -> Schedule | None:
        """What a row says; None if that cannot be read here."""
        return self._firing.documents.of(row).schedule

    def sound(self, row: ScheduleRow) -> Schedule:
        """What a row says; InvalidInput if that cannot be read here."""
        parsed = self._firing.documents.of(row)
        if parsed.schedule is None:
            problem = Problem(
                code="TEN-2730",
                path="$",
                message=parsed.problem or "it cannot be read",
                advice="Correct the schedule, and save it again.",
            )
            raise InvalidInput("the schedule cannot be read", [problem])
        return parsed.schedule


def refuse_unless(id: str, revision: int, only_after: int | None) -> None:
    """Conflict unless a schedule has the revision that was read; None: any."""
    if only_after is not None and only_after != revision:
        raise Conflict(f"the revision of schedule {id} is {revision}", code="TEN-3082")


def busy(id: str) -> Conflict:
    """It was changed by others each time."""
    return Conflict(f"schedule {id} is changed by others all the time", code="TEN-3082")
