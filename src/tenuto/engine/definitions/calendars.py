"""Business calendars of all tenants: saved with versions, resolved once, at hand for decisions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import cached_property

import msgspec

from tenuto.calendars import Calendar, Unresolved, WorkingCalendar, resolve
from tenuto.calendars.documents import (
    ReadCalendar,
    read_calendar,
    stored_calendar,
    write_calendar,
)
from tenuto.definition.report import did_you_mean
from tenuto.engine.definitions.large_documents import LARGE, LargeDocuments
from tenuto.engine.shared import Shared
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem, StoreUnavailable
from tenuto.model.json import JSON, Object
from tenuto.model.pauses import between_parts
from tenuto.model.quotas import refuse_beyond
from tenuto.store.parts.calendars import CalendarRow, CalendarsMark, Moved

_PAGE = 1_000
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
        self._mark = CalendarsMark()
        self._fresh_until = float("-inf")
        self._read_before: dict[bytes, Calendar] = {}
        """The calendars of documents that are being stored: they are not read again."""
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
        """Read them all."""
        # First: what changes meanwhile is read again.
        mark = await self._store.calendars.mark()
        found: dict[str, dict[str, CalendarRow]] = {}
        after = ("", "")
        while page := await self._store.calendars.every(after=after, limit=_PAGE):
            for row in page:
                found.setdefault(row.tenant, {})[row.id] = row
            after = (page[-1].tenant, page[-1].id)
            if len(page) < _PAGE:
                break
        year = self._clock.now().year
        known = self._tenants
        self._tenants = {
            tenant: known[tenant].with_rows(rows, self._read_before)
            if tenant in known
            else Resolved(rows, year, read_before=self._read_before)
            for tenant, rows in found.items()
        }
        self._mark = mark

    async def _read_of(self, tenant: str) -> None:
        """Read those of one tenant."""
        rows: dict[str, CalendarRow] = {}
        after = ""
        while page := await self._store.calendars.page(tenant, after=after, limit=_PAGE):
            rows |= {row.id: row for row in page}
            after = page[-1].id
            if len(page) < _PAGE:
                break
        known = self._tenants.get(tenant)
        if not rows:
            self._tenants.pop(tenant, None)
        elif known is not None:
            self._tenants[tenant] = known.with_rows(rows, self._read_before)
        else:
            self._tenants[tenant] = Resolved(rows, self._clock.now().year)

    # -- for users

    async def check(self, tenant: str, document: JSON, *, id: str | None = None) -> ReadCalendar:
        """Read a document with all its problems; `id`: that of one that names none."""
        await self._read_of(tenant)
        others = self._calendars(tenant)
        year = self._clock.now().year

        def work() -> ReadCalendar:
            read = read_calendar(document, others, year, fallback_id=id or "calendar")
            if read.calendar is None:
                return read
            broken = self._broken_by(read.calendar, others, year)
            return read if not broken else _with(read, broken)

        return await self._values.read(_cost_to_check(document, others), work, tenant=tenant)

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
            if number == 0:
                used = len(await self._store.calendars.page(tenant, limit=self._quotas.calendars))
                refuse_beyond("calendars", used, self._quotas.calendars)
            refuse_beyond("calendar_versions", number, self._quotas.calendar_versions)
            row = CalendarRow(
                tenant=tenant,
                id=calendar.id,
                version=number + 1,
                document=content,
                created_at=self._clock.now(),
                created_by=by,
            )
            if await self._put(row, calendar):
                return row
        raise Conflict(f"calendar {id or ''} is changed by others all the time", code="TEN-3085")

    async def _put(self, row: CalendarRow, calendar: Calendar | None = None) -> bool:
        """Store a version, and let the schedules that depend on it find their next ticks again.

        It reads as `calendar`. Other processes send a heartbeat, and learn of it.
        """
        # Not before every process has the calendar, as it is now, at hand.
        until_known = timedelta(seconds=2 * _FRESH_FOR if self._store.is_shared else 0.0)
        moved = Moved(self._heirs(row.tenant, row.id), self._clock.now() + until_known)
        self._changing += 1
        try:
            is_stored = await self._store.calendars.put(row, moved)
            if is_stored:
                if calendar is not None:
                    self._read_before[row.document] = calendar
                await self.read()
                await self._resolve(row.tenant, moved.calendars)
                with suppress(StoreUnavailable):  # they learn of it with their next heartbeat
                    await self._store.members.hint(())
        finally:
            self._read_before.pop(row.document, None)
            # Also where the answer was lost: it may be stored.
            self._changing -= 1
            self._fresh_until = float("-inf")
            self.changed()
        return is_stored

    async def _resolve(self, tenant: str, ids: Collection[str]) -> None:
        """Resolve changed calendars before a decision asks for them, where that takes long."""
        found = self._tenants.get(tenant)
        if found is None:
            return
        cost = sum(_cost(each, found.calendars) for id in ids if (each := found.calendars.get(id)))

        def work() -> None:
            for id in ids:
                between_parts()
                found.get(id)

        if cost >= LARGE:
            await self._values.read(cost, work, tenant=tenant, may_refuse=False)

    def _heirs(self, tenant: str, id: str) -> set[str]:
        """A calendar and those that extend it, as this process knows them."""
        others = self._calendars(tenant)
        return {id, *(each.id for each in others.values() if id in _chain(each, others))}

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
        extended = [each.id for each in self._calendars(tenant).values() if each.extends == id]
        found = [f"schedule {each.id}" for each in schedules]
        return [*found, *(f"calendar {each}" for each in extended[:limit])]

    def _calendars(self, tenant: str) -> Mapping[str, Calendar]:
        found = self._tenants.get(tenant)
        return {} if found is None else found.calendars

    def _broken_by(
        self, changed: Calendar, others: Mapping[str, Calendar], year: int
    ) -> list[Problem]:
        """Why calendars that extend a changed one would have no working time."""
        after = {**others, changed.id: changed}
        problems: list[Problem] = []
        for each in after.values():
            if each.id == changed.id or changed.id not in _chain(each, after):
                continue
            if isinstance(found := resolve(each, after, year), Unresolved):
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


class Resolved(Mapping[str, WorkingCalendar]):
    """The calendars of a tenant in a year; each is resolved when it is first asked for."""

    def __init__(
        self,
        rows: Mapping[str, CalendarRow],
        year: int,
        known: Mapping[tuple[str, ...], WorkingCalendar | None] | None = None,
        read_before: Mapping[bytes, Calendar] | None = None,
    ) -> None:
        """`known`: what was resolved before, by the versions of a calendar and those it extends.

        `read_before` are calendars by their documents: reading a large one takes long.
        """
        self.rows = rows
        self.year = year
        before = read_before or {}
        self.calendars: Mapping[str, Calendar] = {
            id: before.get(row.document) or calendar_of(row) for id, row in rows.items()
        }
        self._found: dict[tuple[str, ...], WorkingCalendar | None] = dict(known or {})

    @cached_property
    def digest(self) -> str:
        """Of their versions, and of the year, from which holidays follow."""
        versions = sorted(f"{id} {row.version}" for id, row in self.rows.items())
        text = "\n".join([str(self.year), *versions])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def in_year(self, year: int) -> Resolved:
        """The same calendars with the holidays of another year."""
        return Resolved(self.rows, year, read_before=self._read_before())

    def with_rows(
        self, rows: Mapping[str, CalendarRow], read_before: Mapping[bytes, Calendar] | None = None
    ) -> Resolved:
        """After a change; the same value if there is none."""
        if rows == self.rows:
            return self
        before = {**self._read_before(), **(read_before or {})}
        return Resolved(rows, self.year, self._found, before)

    def _read_before(self) -> dict[bytes, Calendar]:
        # A calendar without an id in its document has that of its row.
        return {row.document: self.calendars[id] for id, row in self.rows.items()}

    def __getitem__(self, id: str) -> WorkingCalendar:
        calendar = self.calendars[id]
        key = tuple(f"{each}:{self._version(each)}" for each in _chain(calendar, self.calendars))
        if key not in self._found:
            resolved = resolve(calendar, self.calendars, self.year)
            self._found[key] = None if isinstance(resolved, Unresolved) else resolved
        found = self._found[key]
        if found is None:
            raise KeyError(id)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.calendars))

    def __len__(self) -> int:
        return len(self.calendars)

    def _version(self, id: str) -> int:
        return self.rows[id].version if id in self.rows else 0


def calendar_of(row: CalendarRow) -> Calendar:
    """The calendar of a stored version, as it was written."""
    # One of a newer program, or with a zone that is gone, has no working time.
    return stored_calendar(document_of(row)) or Calendar(id=row.id)


def document_of(row: CalendarRow) -> Object:
    """The document of a stored version."""
    document: Object = msgspec.json.decode(row.document)
    return document


def _chain(calendar: Calendar, others: Mapping[str, Calendar]) -> list[str]:
    """The ids of a calendar and of those that it extends, as far as they exist."""
    ids = [calendar.id]
    while calendar.extends is not None and calendar.extends not in ids:
        ids.append(calendar.extends)
        if calendar.extends not in others:
            break
        calendar = others[calendar.extends]
    return ids


_RULE = 10_000
"""The holidays of a country cost as much as so many bytes of a document."""
_DATE = 50


def _cost(calendar: Calendar, others: Mapping[str, Calendar]) -> int:
    """About what it takes to resolve a calendar, in bytes of a document."""
    found = [calendar, *(others[id] for id in _chain(calendar, others)[1:] if id in others)]
    return sum(_RULE * len(each.holidays) + _DATE * len(each.dates) for each in found)


def _cost_to_check(document: JSON, others: Mapping[str, Calendar]) -> int:
    """The same for a document, with the calendars that extend it."""
    if not isinstance(document, dict):
        return 0
    own = sum(
        each * len(value)
        for name, each in (("holidays", _RULE), ("dates", _DATE))
        if isinstance(value := document.get(name), list)
    )
    id, parent = document.get("id"), document.get("extends")
    if isinstance(parent, str) and parent in others:
        own += _cost(others[parent], others)
    heirs = [each for each in others.values() if id in _chain(each, others) and each.id != id]
    return own * (1 + len(heirs)) + sum(_cost(each, others) for each in heirs)


def _with(read: ReadCalendar, problems: list[Problem]) -> ReadCalendar:
    return ReadCalendar(calendar=None, working=None, problems=(*read.problems, *problems))


_NONE: Mapping[str, WorkingCalendar] = {}
