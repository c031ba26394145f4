"""What names a calendar: schedules, calendars that extend it, and definitions."""

from __future__ import annotations

from functools import partial

import msgspec

from tenuto.definition import check
from tenuto.definition.calendar_places import calendar_places
from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.engine.definitions.plans import is_there
from tenuto.model.test_run import is_test_run
from tenuto.store.protocol import Parts
from tenuto.workspace.schedule_values import CalendarUses

MOST = 100
"""So many of each kind are named."""
_PAGE = 10
"""Each may be of a megabyte: a page of them is in memory at once."""
_SHOWN = 5


async def calendar_uses(seen: Parts, values: LargeDocuments, tenant: str, id: str) -> CalendarUses:
    """Everything of a tenant that names a calendar."""
    schedules = await seen.schedules.page(tenant, calendar_id=id, limit=MOST)
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
    after = ""
    # An id has no letters that JSON writes in another way.
    written = f'"{id}"'.encode()
    while True:
        rows = await seen.definitions.newest(tenant, after=after, limit=_PAGE)
        for row in rows:
            if not is_there(row) or is_test_run(row.id) or written not in row.content:
                continue
            # To compile a large one takes a second.
            if await values.aside(partial(_names, row.content, id), tenant=tenant):
                found.append(row.id)
        if len(rows) < _PAGE or len(found) >= MOST:
            return found[:MOST]
        after = rows[-1].id


def _names(content: bytes, id: str) -> bool:
    """Whether durations of a definition are counted in the working time of a calendar."""
    definition = check(msgspec.json.decode(content)).definition
    return definition is not None and any(
        place.calendar == id for place in calendar_places(definition)
    )
