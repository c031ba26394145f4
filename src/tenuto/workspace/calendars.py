"""The business calendars of one tenant over an engine: saved, imported into, removed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from functools import partial

import msgspec

from tenuto.calendars import OwnDate, WorkingCalendar
from tenuto.calendars.documents import write_calendar
from tenuto.calendars.ical import import_dates
from tenuto.calendars.resolution import YEARS_AFTER, YEARS_BEFORE
from tenuto.definition.slug import slug
from tenuto.engine.definitions.calendar_values import calendar_of
from tenuto.engine.engine import Engine
from tenuto.model.errors import Conflict, Problem
from tenuto.model.json import JSON, Object
from tenuto.workspace.calendar_uses import uses_text
from tenuto.workspace.definitions import candidate_ids
from tenuto.workspace.schedule_values import ImportedDates, SavedCalendar
from tenuto.workspace.stored_calendars import StoredCalendars


class Calendars(StoredCalendars):
    """The business calendars of one tenant, and their versions."""

    def __init__(self, engine: Engine, tenant: str, actor: str) -> None:
        super().__init__(engine, tenant)
        self._engine = engine
        self._actor = actor

    async def save(self, document: JSON, *, only_after: int | None = None) -> SavedCalendar:
        """Save a calendar, new or not; without an id it is a new one. InvalidInput.

        The same content again makes no new version. With `only_after` it is saved only while that
        is the newest version; Conflict.
        """
        if isinstance(document, dict) and "id" not in document:
            return await self.create(document)
        row = await self._engine.calendars.save(
            self._tenant, document, by=self._actor, only_after=only_after
        )
        return await self._shown(row, await self._warnings(document))

    async def create(self, document: JSON) -> SavedCalendar:
        """Save a new calendar; Conflict where its id is taken.

        One without an id gets a free one, made of its name.
        """
        if not isinstance(document, dict) or "id" in document:
            row = await self._engine.calendars.save(
                self._tenant, document, by=self._actor, is_new=True
            )
            return await self._shown(row, await self._warnings(document))
        base = slug(document, "calendar")
        for id in candidate_ids(base, self._source.ids):
            if await self._seen.calendars.newest(self._tenant, id) is None:
                with suppress(Conflict):
                    return await self.create({"id": id, **document})
        raise Conflict(f"there is a calendar {base}", code="TEN-3084")

    async def import_dates(self, id: str, text: str | bytes) -> ImportedDates:
        """Add the whole days of an iCalendar file to the dates of a calendar, as days off.

        A date that the calendar has already stays as it is. InvalidInput; NotFound.
        """
        while True:
            row = await self._row(id)
            calendar = calendar_of(row)
            zone = (await self._working(row)).timezone
            year = self._source.clock.now().year
            first, last = date(year - YEARS_BEFORE, 1, 1), date(year + YEARS_AFTER, 12, 31)
            found = await self._source.plans.values.aside(
                partial(import_dates, text, zone, first, last), tenant=self._tenant
            )
            own = {each.date for each in calendar.dates}
            new = [each for each in found.dates if each.date not in own]
            left_out = [
                f"{each.name or 'a day'}: the calendar has {each.date} already"
                for each in found.dates
                if each.date in own
            ]
            if new:
                dates = sorted((*calendar.dates, *new), key=lambda each: each.date)
                changed = msgspec.structs.replace(calendar, dates=tuple(dates))
                try:
                    row = await self._engine.calendars.save(
                        self._tenant,
                        write_calendar(changed),
                        by=self._actor,
                        only_after=row.version,
                    )
                except Conflict as error:
                    if error.code != CHANGED:
                        raise
                    continue
            return ImportedDates(
                calendar=await self._shown(row),
                imported=[_date_json(each) for each in new],
                left_out=[*found.left_out, *left_out][:100],
            )

    async def remove(self, id: str) -> None:
        """Remove a calendar; Conflict while something names it. NotFound.

        What has begun with it goes on with the version that it began with.
        """
        await self._row(id)
        if said := uses_text(await self.uses(id)):
            raise Conflict(f"the calendar {id} is used by {said}", code="TEN-3086")
        await self._engine.calendars.remove(self._tenant, id, by=self._actor)

    async def known(self) -> Mapping[str, WorkingCalendar]:
        """The working time of each calendar, by id."""
        return await self._engine.calendars.resolved(self._tenant)

    async def _warnings(self, document: JSON) -> list[Problem]:
        checked = await self._engine.calendars.check(self._tenant, document)
        return [each for each in checked.problems if each.severity == "warning"]


CHANGED = "TEN-3085"


def _date_json(own: OwnDate) -> Object:
    found: Object = {"date": own.date.isoformat()}
    return found if own.name is None else {**found, "name": own.name}
