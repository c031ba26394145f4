"""Business calendars: every version of each, as a document."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Script
from tenuto.store.cold.rows import columns_of
from tenuto.store.marks import for_tenants, writes


class CalendarRow(Struct, frozen=True, gc=False, kw_only=True):
    """One version of a calendar. Its document is opaque to the store."""

    tenant: str
    id: str
    version: int
    """1, 2, 3, …: rises with each change."""
    document: bytes
    """JSON; empty in a version that says that the calendar was removed."""
    created_at: datetime
    created_by: str | None = None
    is_removed: bool = False
    """Whether the calendar does not exist from this version on."""


class CalendarsMark(NamedTuple):
    """A fingerprint of the newest versions of all calendars: differs after each change."""

    number: int = 0
    versions: int = 0
    """The sum of their versions."""


class Moved(NamedTuple):
    """Schedules that are to find their next ticks again: the active ones, and those in error."""

    calendars: Collection[str]
    """They name one of these."""
    next_at: datetime
    """When they have something to do."""


class Calendars(ColdPart):
    """Calendars and their versions. All verbs are safe to repeat."""

    @writes
    async def put(self, row: CalendarRow, moved: Moved | None = None) -> bool:
        """Store a version; False unless it follows the newest one, or is stored already.

        `moved`: the schedules that have something to do because of it, in the same transaction.
        """

        def script() -> Script[bool]:
            yield Ask("retire_calendar", columns_of(row))
            is_stored = bool((yield Ask("insert_calendar", columns_of(row))))
            if is_stored and moved is not None:
                calendars = msgspec.json.encode(sorted(moved.calendars)).decode()
                at = epoch_ms(moved.next_at)
                which = {"tenant": row.tenant, "calendars": calendars, "next_at": at}
                yield Ask("move_schedules", which)
            return is_stored

        if await self._port.transaction(script):
            return True
        # The same version, where the answer to the first attempt was lost.
        return await self.newest(row.tenant, row.id) == row

    @for_tenants
    async def newest(self, tenant: str, id: str) -> CalendarRow | None:
        """The newest version, also one that is a removal; None: there never was one."""
        return await self._one(CalendarRow, "newest_calendar", {"tenant": tenant, "id": id})

    @for_tenants
    async def get(self, tenant: str, id: str, version: int | None = None) -> CalendarRow | None:
        """A version; without a number the newest. None if there is none, or it is a removal."""
        if version is None:
            found = await self.newest(tenant, id)
        else:
            which = {"tenant": tenant, "id": id, "version": version}
            found = await self._one(CalendarRow, "calendar_version", which)
        return None if found is None or found.is_removed else found

    @for_tenants
    async def page(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[CalendarRow]:
        """The newest versions of a tenant's calendars with ids after `after`, ordered by id."""
        which = {"tenant": tenant, "after": after, "limit": limit}
        return await self._found(CalendarRow, "calendars", which)

    @for_tenants
    async def versions(
        self, tenant: str, id: str, *, below: int | None = None, limit: int = 100
    ) -> list[CalendarRow]:
        """The versions of a calendar below one of them, newest first; also removals."""
        least = (1 << 53) if below is None else below
        which = {"tenant": tenant, "id": id, "below": least, "limit": limit}
        return await self._found(CalendarRow, "calendar_versions", which)

    async def every(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[CalendarRow]:
        """The newest versions of all tenants' calendars after one, ordered by tenant and id."""
        tenant, id = after
        which = {"tenant": tenant, "id": id, "limit": limit}
        return await self._found(CalendarRow, "all_calendars", which)

    @for_tenants
    async def heads(
        self, tenant: str, *, after: str = "", limit: int = 10_000
    ) -> list[tuple[str, int]]:
        """The ids and newest versions of a tenant's calendars, also of those that are removed.

        They are found in an index alone, without the documents.
        """
        which = {"tenant": tenant, "after": after, "limit": limit}
        return [
            (str(id), int(version))
            for id, version in await self._port.rows("calendar_heads", which)
        ]

    @for_tenants
    async def mark_of(self, tenant: str) -> CalendarsMark:
        """The fingerprint of the calendars of a tenant."""
        [(number, versions)] = await self._port.rows("calendars_mark_of", {"tenant": tenant})
        return CalendarsMark(number, versions)

    async def marks(self) -> dict[str, CalendarsMark]:
        """The fingerprints of the calendars of each tenant that has or had any."""
        found = await self._port.rows("calendars_marks", {})
        return {tenant: CalendarsMark(number, versions) for tenant, number, versions in found}

    async def mark(self) -> CalendarsMark:
        """The fingerprint of all calendars."""
        [(number, versions)] = await self._port.rows("calendars_mark", {})
        return CalendarsMark(number, versions)
