"""What names a calendar: schedules, calendars that extend it, and definitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

import msgspec

from tenuto.definition import check
from tenuto.definition.calendar_places import calendar_places
from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.store.parts.schedules import ScheduleRow
from tenuto.store.protocol import Parts
from tenuto.workspace.definition_uses import found_in_definitions
from tenuto.workspace.portions import page_by_name, size_of_parts
from tenuto.workspace.schedule_values import CalendarUses

MOST = 100
"""So many of each kind are named."""
_PAGE = 10
"""Each may be of a megabyte: a page of them is in memory at once."""
_SHOWN = 5


async def calendar_uses(seen: Parts, values: LargeDocuments, tenant: str, id: str) -> CalendarUses:
    """Everything of a tenant that names a calendar."""

    async def read(after: str, count: int) -> Sequence[ScheduleRow]:
        return await seen.schedules.page(tenant, calendar_id=id, after=after, limit=count)

    schedules, _ = await page_by_name(
        MOST, None, read, name=attrgetter("id"), size=lambda row: size_of_parts(row.content)
    )
    return CalendarUses(
        schedules=[row.id for row in schedules],
        calendars=await _heirs(seen, tenant, id),
        workflows=await _workflows(seen, values, tenant, id),
    )


def uses_text(uses: CalendarUses) -> str:
    """What uses a calendar, in words; empty if nothing does."""
    kinds = (
        ("schedule", uses.schedules),
        ("calendar", uses.calendars),
        ("workflow", uses.workflows),
    )
    return ", ".join(_listed(kind, ids) for kind, ids in kinds if ids)


def _listed(kind: str, ids: list[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return f"the {kind}{'s' if len(ids) > 1 else ''} {', '.join(ids[:_SHOWN])}{more}"


async def _heirs(seen: Parts, tenant: str, id: str) -> list[str]:
    found: list[str] = []
    after = ""
    while True:
        rows = await seen.calendars.page(tenant, after=after, limit=_PAGE)
        found += [row.id for row in rows if _extends(row.document) == id]
        if len(rows) < _PAGE or len(found) >= MOST:
            return found[:MOST]
        after = rows[-1].id


class _Head(msgspec.Struct):
    """The one field that is looked at; the others, which may be large, are passed over."""

    extends: str | None = None


_read_head = msgspec.json.Decoder(_Head).decode


def _extends(document: bytes) -> str | None:
    return _read_head(document).extends


async def _workflows(seen: Parts, values: LargeDocuments, tenant: str, id: str) -> list[str]:
    found: list[str] = []
    # An id has no letters that JSON writes in another way.
    written, look = f'"{id}"'.encode(), partial(_names, id=id)
    async for workflow, is_named in found_in_definitions(seen, values, tenant, written, look):
        if is_named:
            found.append(workflow)
        if len(found) == MOST:
            break
    return found


def _names(content: bytes, id: str) -> bool:
    """Whether durations of a definition are counted in the working time of a calendar."""
    definition = check(msgspec.json.decode(content)).definition
    return definition is not None and any(
        place.calendar == id for place in calendar_places(definition)
    )
