"""Business calendars of all tenants: saved with versions, resolved once, at hand for decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import timedelta
from weakref import WeakValueDictionary

import msgspec

from tenuto.calendars import Calendar, Unresolved, WorkingCalendar, resolve
from tenuto.calendars.documents import ReadCalendar, read_calendar, write_calendar
from tenuto.definition.report import did_you_mean
from tenuto.engine.definitions.calendar_values import Resolved, WithOne, cost_to_check
from tenuto.engine.definitions.large_documents import LARGE, LargeDocuments
from tenuto.engine.shared import Shared
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem, StoreUnavailable
from tenuto.model.json import JSON
from tenuto.model.pauses import between_parts
from tenuto.model.quotas import refuse_beyond
from tenuto.store.parts.calendars import CalendarRow, CalendarsMark, Moved

_PAGE = 1_000
_HEADS = 10_000
_FIRST_PAGE = 16
"""So many documents are read at once at first: it is not known how large they are."""
_PAGE_BYTES = 8_000_000
"""About as much as is read at once."""
_FRESH_FOR = 1.0
"""Seconds for which what was read counts as current."""
_MOST_NAMED = 5
"""The most users of a calendar that an error names."""
_MOST_TRIES = 10


class Calendars:
    """The calendars of all tenants, as this process knows them."""

    def __init__(self, shared: Shared, values: LargeDocuments) -> None:
        """`values`: the thread in which large calendars are read and resolved."""
        self._values = values
        self._store = shared.store
        self._clock = shared.clock
        self._quotas = shared.settings.quotas
        self._tenants: dict[str, Resolved] = {}
        self._marks: dict[str, CalendarsMark] = {}
        """Of the calendars of each tenant, as they were read."""
        self._mark = CalendarsMark()
        """Of all of them: the sum."""
        self._versions: dict[str, dict[str, int]] = {}
        """The newest versions by tenant and id, also of those that are removed."""
        self._reading = asyncio.Lock()
        """Held while something is read, or taken over: what is older comes first."""
        self._saving: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Held while the calendars of a tenant are counted and one is added: its quotas hold."""
        self._fresh_until = float("-inf")
        self._changing = 0
        """How many changes of this process are under way: what is known may not be current."""
        self.changed: Callable[[], None] = lambda: None
        """Called when schedules are to find their next ticks again."""

    # -- for decisions

    def known(self, tenant: str) -> Mapping[str, WorkingCalendar]:
        """The calendars of a tenant by id, as this process knows them; an immutable value.

        Another value after a change. Each is resolved when it is first asked for, with the holidays
        of the years around the present one.
        """
        found = self._tenants.get(tenant)
        if found is None:
            return _NONE
        year = self._clock.now().year
        if found.year != year:
            found = self._tenants[tenant] = found.in_year(year)
        return found

    def digest(self, tenant: str) -> str:
        """A digest of the calendars of a tenant and of the year; empty where there are none."""
        found = self._tenants.get(tenant)
        return "" if found is None else found.digest

    async def resolved(self, tenant: str) -> Mapping[str, WorkingCalendar]:
        """The calendars of a tenant, as they are stored, or were a second ago."""
        await self.refresh()
        return self.known(tenant)

    async def refresh(self) -> None:
        """Read them again where another process has changed some."""
        if self._changing or self._clock.ticks() >= self._fresh_until:
            await self.look()

    async def look(self) -> None:
        """The same at once, for what was read from the store a moment ago."""
        since = self._clock.ticks()
        await self.heard(await self._store.calendars.mark())
        self._fresh_until = since + _FRESH_FOR

    async def heard(self, mark: CalendarsMark | None) -> None:
        """The same with the mark of a heartbeat, which a change hastens; None: no other changes."""
        if mark is not None and mark != self._mark:
            await self.read()

    async def read(self) -> None:
        """Read what has changed: all of them at the start, later those of other versions."""
        async with self._reading:
            # First: what changes meanwhile is read again.
            marks = await self._store.calendars.marks()
            if not self._marks:
                await self._read_all(marks)
                return
            for tenant in self._marks.keys() | marks.keys():
                if self._marks.get(tenant) != marks.get(tenant):
                    await self._read_changed(tenant)

    async def _read_all(self, marks: Mapping[str, CalendarsMark]) -> None:
        """Take over all documents, none of which is looked into."""
        found: dict[str, dict[str, CalendarRow]] = {}
        after, limit = ("", ""), _FIRST_PAGE
        while page := await self._store.calendars.every(after=after, limit=limit):
            for row in page:
                found.setdefault(row.tenant, {})[row.id] = row
            after = (page[-1].tenant, page[-1].id)
            if len(page) < limit:
                break
            size = 1 + sum(len(row.document) for row in page) // len(page)
            limit = min(max(1, _PAGE_BYTES // size), 4 * limit, _PAGE)
        year = self._clock.now().year
        self._tenants = {tenant: Resolved(rows, year) for tenant, rows in found.items()}
        self._versions = {
            tenant: {id: row.version for id, row in rows.items()} for tenant, rows in found.items()
        }
        for tenant, mark in marks.items():
            if mark.number > len(found.get(tenant, ())):
                heads = await self._heads(tenant)
                # Or some have changed since, and are no removed ones: they are read again.
                if _mark_of(heads) == mark:
                    self._versions[tenant] = heads
        self._marks = dict(marks)
        self._mark = CalendarsMark(
            sum(each.number for each in marks.values()),
            sum(each.versions for each in marks.values()),
        )

    async def _read_of(self, tenant: str) -> None:
        """Read those of one tenant that have changed."""
        if await self._store.calendars.mark_of(tenant) != self._marks.get(tenant, _NO_MARK):
            async with self._reading:
                await self._read_changed(tenant)

    async def _read_changed(self, tenant: str) -> None:
        """Read the documents whose versions are not those that this process knows."""
        heads = await self._heads(tenant)
        known = self._versions.get(tenant, {})
        changed = [id for id, version in heads.items() if known.get(id) != version]
        rows = [await self._store.calendars.newest(tenant, id) for id in changed]
        self._take(tenant, [row for row in rows if row is not None], gone=known.keys() - heads)
        heads |= {row.id: row.version for row in rows if row is not None}
        self._set_mark(tenant, _mark_of(heads))

    async def _heads(self, tenant: str) -> dict[str, int]:
        """The newest versions of a tenant by id, also of those that are removed."""
        heads: dict[str, int] = {}
        after = ""
        while page := await self._store.calendars.heads(tenant, after=after, limit=_HEADS):
            heads |= dict(page)
            after = page[-1][0]
            if len(page) < _HEADS:
                break
        return heads

    def _take(
        self,
        tenant: str,
        changed: Collection[CalendarRow],
        *,
        gone: Collection[str] = (),
        calendar: Calendar | None = None,
    ) -> None:
        """Take over changed calendars of a tenant; one of them reads as `calendar`."""
        if not changed and not gone:
            return
        known = self._tenants.get(tenant)
        rows = dict(known.rows) if known is not None else {}
        versions = self._versions.setdefault(tenant, {})
        for id in gone:
            versions.pop(id, None)
            rows.pop(id, None)
        for row in changed:
            versions[row.id] = row.version
            if row.is_removed:
                rows.pop(row.id, None)
            else:
                rows[row.id] = row
        if not rows:
            self._tenants.pop(tenant, None)
            return
        before = known or Resolved({}, self._clock.now().year)
        self._tenants[tenant] = before.with_rows(rows, calendar)

    async def _stored(self, row: CalendarRow, calendar: Calendar | None) -> None:
        """This process has stored a version: nothing has to be read, unless others changed some."""
        async with self._reading:
            known = self._versions.get(row.tenant, {}).get(row.id, 0)
            if known >= row.version:
                return  # it was read already
            self._take(row.tenant, [row], calendar=calendar)
            mark = self._marks.get(row.tenant, _NO_MARK)
            # With changes of others it is not that of the store, and they are read.
            is_new = row.version == 1
            self._set_mark(row.tenant, CalendarsMark(mark.number + is_new, mark.versions + 1))

    def _set_mark(self, tenant: str, mark: CalendarsMark) -> None:
        before = self._marks.get(tenant, _NO_MARK)
        if mark == _NO_MARK:
            self._marks.pop(tenant, None)
        else:
            self._marks[tenant] = mark
        self._mark = CalendarsMark(
            self._mark.number + mark.number - before.number,
            self._mark.versions + mark.versions - before.versions,
        )

    # -- for users

    async def check(self, tenant: str, document: JSON, *, id: str | None = None) -> ReadCalendar:
        """Read a document with all its problems; `id`: that of one that names none."""
        await self._read_of(tenant)
        others = self._resolved(tenant)
        year = self._clock.now().year

        def work() -> ReadCalendar:
            read = read_calendar(document, others.calendars, year, fallback_id=id or "calendar")
            if read.calendar is None:
                return read
            broken = self._broken_by(read.calendar, others, year)
            return read if not broken else _with(read, broken)

        return await self._values.read(cost_to_check(document, others), work, tenant=tenant)

    async def is_saved(self, tenant: str, document: JSON) -> bool:
        """Whether saving a document would make no version; false also where it is not valid."""
        calendar = (await self.check(tenant, document)).calendar
        if calendar is None:
            return False
        newest = await self._store.calendars.newest(tenant, calendar.id)
        content = msgspec.json.encode(write_calendar(calendar), order="deterministic")
        return newest is not None and not newest.is_removed and newest.document == content

    async def save(
        self,
        tenant: str,
        document: JSON,
        *,
        by: str | None,
        id: str | None = None,
        only_after: int | None = None,
        is_new: bool = False,
    ) -> CalendarRow:
        """Save a calendar; unchanged content makes no version.

        InvalidInput with all problems. Conflict where `is_new` and there is one, or unless
        `only_after` is the newest version (0: there is none). QuotaExceeded.
        """
        for _ in range(_MOST_TRIES):
            read = await self.check(tenant, document, id=id)
            if read.calendar is None or read.working is None:
                errors = [each for each in read.problems if each.severity == "error"]
                raise InvalidInput("the calendar cannot be saved", errors)
            calendar = read.calendar
            content = msgspec.json.encode(write_calendar(calendar), order="deterministic")
            newest = await self._store.calendars.newest(tenant, calendar.id)
            is_there = newest is not None and not newest.is_removed
            if is_new and is_there:
                raise Conflict(f"there is a calendar {calendar.id}", code="TEN-3084")
            present = newest.version if newest is not None and is_there else 0
            if only_after is not None and only_after != present:
                raise Conflict(
                    f"the newest version of calendar {calendar.id} is {present}", code="TEN-3085"
                )
            if newest is not None and is_there and newest.document == content:
                return newest
            number = 0 if newest is None else newest.version
            row = CalendarRow(
                tenant=tenant,
                id=calendar.id,
                version=number + 1,
                document=content,
                created_at=self._clock.now(),
                created_by=by,
            )
            async with self._saving.setdefault(tenant, asyncio.Lock()):
                self._refuse_beyond_quotas(row)
                if await self._put(row, calendar):
                    return row
        raise Conflict(f"calendar {id or ''} is changed by others all the time", code="TEN-3085")

    def _refuse_beyond_quotas(self, row: CalendarRow) -> None:
        """QuotaExceeded where a tenant has too many calendars, versions of one, or bytes."""
        known = self._resolved(row.tenant)
        before = known.rows.get(row.id)
        if before is None:
            refuse_beyond("calendars", len(known), self._quotas.calendars)
        refuse_beyond("calendar_versions", row.version - 1, self._quotas.calendar_versions)
        more = len(row.document) - (0 if before is None else len(before.document))
        if more > 0:
            refuse_beyond("calendar_bytes", known.size, self._quotas.calendar_bytes, more)

    def used_bytes(self) -> dict[str, int]:
        """The bytes of the calendars of each tenant, as this process knows them."""
        return {tenant: found.size for tenant, found in self._tenants.items()}

    async def _put(self, row: CalendarRow, calendar: Calendar | None = None) -> bool:
        """Store a version, and let the schedules that depend on it find their next ticks again.

        It reads as `calendar`. Other processes send a heartbeat, and learn of it.
        """
        # Not before every process has the calendar, as it is now, at hand.
        until_known = timedelta(seconds=2 * _FRESH_FOR if self._store.is_shared else 0.0)
        moved = Moved(self._heirs(row.tenant, row.id), self._clock.now() + until_known)
        try:
            is_stored = await self._tell(row, calendar, moved)
            if is_stored:
                await self._resolve(row.tenant, moved.calendars)
        finally:
            # Also where the answer was lost: it may be stored.
            self.changed()
        return is_stored

    async def _tell(self, row: CalendarRow, calendar: Calendar | None, moved: Moved) -> bool:
        """Store a version, and tell this process and the others of it."""
        self._changing += 1
        try:
            is_stored = await self._store.calendars.put(row, moved)
            if is_stored:
                await self._stored(row, calendar)
                with suppress(StoreUnavailable):  # they learn of it with their next heartbeat
                    await self._store.members.hint(())
        finally:
            self._changing -= 1
            self._fresh_until = float("-inf")
        return is_stored

    async def _resolve(self, tenant: str, ids: Collection[str]) -> None:
        """Resolve changed calendars before a decision asks for them, where that takes long."""
        found = self._tenants.get(tenant)
        if found is None:
            return
        cost = sum(found.cost(id) for id in ids if id in found.rows)

        def work() -> None:
            for id in ids:
                between_parts()
                found.get(id)

        if cost >= LARGE:
            await self._values.read(cost, work, tenant=tenant, may_refuse=False)

    def _heirs(self, tenant: str, id: str) -> set[str]:
        """A calendar and those that extend it, as this process knows them."""
        return {id, *self._resolved(tenant).heirs(id)}

    async def get(self, tenant: str, id: str, version: int | None = None) -> CalendarRow:
        """A version of a calendar, without a number the newest; NotFound."""
        found = await self._store.calendars.get(tenant, id, version)
        if found is None:
            which = id if version is None else f"{id} version {version}"
            names = [each.id for each in await self._store.calendars.page(tenant)]
            advice = did_you_mean(id, names, "`tenuto calendars list` shows the calendars.")
            raise NotFound(f"there is no calendar {which}", code="TEN-3083", advice=advice)
        return found

    async def remove(self, tenant: str, id: str, *, by: str | None) -> None:
        """Remove a calendar; NotFound. Conflict where it is used, which names the users."""
        for _ in range(_MOST_TRIES):
            newest = await self.get(tenant, id)
            users = await self.used_by(tenant, id)
            if users:
                raise Conflict(
                    f"calendar {id} is used by {', '.join(users[:_MOST_NAMED])}"
                    f"{' and others' if len(users) > _MOST_NAMED else ''}",
                    code="TEN-3086",
                )
            removal = CalendarRow(
                tenant=tenant,
                id=id,
                version=newest.version + 1,
                document=b"",
                created_at=self._clock.now(),
                created_by=by,
                is_removed=True,
            )
            if await self._put(removal):
                return
        raise Conflict(f"calendar {id} is changed by others all the time", code="TEN-3085")

    async def used_by(self, tenant: str, id: str) -> list[str]:
        """Schedules that name a calendar, and calendars that extend it; some of them."""
        await self._read_of(tenant)
        limit = _MOST_NAMED + 1
        schedules = await self._store.schedules.page(tenant, calendar_id=id, limit=limit)
        others = self._resolved(tenant)
        extended = [each for each in others.rows if others.extends(each) == id]
        found = [f"schedule {each.id}" for each in schedules]
        return [*found, *(f"calendar {each}" for each in extended[:limit])]

    def _resolved(self, tenant: str) -> Resolved:
        found = self._tenants.get(tenant)
        return Resolved({}, self._clock.now().year) if found is None else found

    def _broken_by(self, changed: Calendar, others: Resolved, year: int) -> list[Problem]:
        """Why calendars that extend a changed one would have no working time."""
        after = WithOne(others.calendars, changed)
        problems: list[Problem] = []
        for id in others.heirs(changed.id):
            if isinstance(found := resolve(each := others.calendars[id], after, year), Unresolved):
                problems += [
                    Problem(
                        code=problem.code,
                        path=problem.path,
                        message=f"calendar `{each.id}`, which extends it: {problem.message}",
                        advice=problem.advice,
                    )
                    for problem in found.problems
                ]
        return problems


def _with(read: ReadCalendar, problems: list[Problem]) -> ReadCalendar:
    return ReadCalendar(calendar=None, working=None, problems=(*read.problems, *problems))


def _mark_of(versions: Mapping[str, int]) -> CalendarsMark:
    return CalendarsMark(len(versions), sum(versions.values()))


_NO_MARK = CalendarsMark()
_NONE: Mapping[str, WorkingCalendar] = {}
