"""What a filter finds, page by page: new ones that come meanwhile are not among it."""

from __future__ import annotations

import asyncio
from datetime import datetime

import msgspec

from tenuto.model.errors import NotFound
from tenuto.store.protocol import DeadLetterPlace, DeadLetterRow, InstanceQuery
from tenuto.workspace.bulk.asked import SENSIBLE, BulkAsked, Found
from tenuto.workspace.engine_workspace import EngineWorkspace

_LOOKS = 10
"""So many pages of letters are passed over together where none of them is meant."""


async def find(
    workspace: EngineWorkspace, asked: BulkAsked, before: datetime, cursor: str | None, limit: int
) -> Found:
    """The page that begins at a cursor, of what was there before a moment."""
    if asked.target == "instances":
        return await _instances(workspace, asked, before, cursor, limit)
    return await _dead_letters(workspace, asked, before, cursor, limit)


async def _instances(
    workspace: EngineWorkspace, asked: BulkAsked, before: datetime, cursor: str | None, limit: int
) -> Found:
    which = asked.which
    query = InstanceQuery(
        ids=which.ids,
        statuses=which.statuses or SENSIBLE[asked.action],
        definition_id=which.workflow_id,
        correlation_id=which.correlation_id,
        current_step=which.current_step,
        created_from=which.created_from,
        created_before=min(before, which.created_before or before),
        limit=limit,
        after=cursor,
    )
    page = await workspace.page(query)
    return Found(tuple(row.id for row in page.items), page.next_after)


async def _dead_letters(
    workspace: EngineWorkspace, asked: BulkAsked, before: datetime, cursor: str | None, limit: int
) -> Found:
    if asked.which.ids:
        return await _named_letters(workspace, asked, before, cursor, limit)
    which = asked.which
    if cursor is not None:
        below = msgspec.json.decode(cursor, type=DeadLetterPlace)
    else:
        # The newest come first: those that came too late are not read.
        below = DeadLetterPlace(min(before, which.created_before or before), "", "")
    ids: tuple[str, ...] = ()
    for _ in range(_LOOKS):
        rows = await workspace.dead_letters(limit, below=below)
        ids = tuple(row.id for row in rows if _fits(row, asked, before))
        is_past = which.created_from is not None and rows and rows[-1].at < which.created_from
        if len(rows) < limit or is_past:
            return Found(ids, None)
        below = DeadLetterPlace(rows[-1].at, rows[-1].id, rows[-1].instance_id)
        if ids:
            break
    return Found(ids, msgspec.json.encode(below).decode())


async def _named_letters(
    workspace: EngineWorkspace, asked: BulkAsked, before: datetime, cursor: str | None, limit: int
) -> Found:
    """Those that were named are looked up, however many others there are."""
    # An older program goes through them all, and leaves another cursor.
    start = int(cursor) if cursor is not None and cursor.isdecimal() else 0
    ids = tuple(dict.fromkeys(asked.which.ids))
    found = await asyncio.gather(*(_letter(workspace, id) for id in ids[start : start + limit]))
    fitting = tuple(row.id for row in found if row is not None and _fits(row, asked, before))
    end = start + limit
    return Found(fitting, str(end) if end < len(ids) else None)


async def _letter(workspace: EngineWorkspace, id: str) -> DeadLetterRow | None:
    try:
        return await workspace.dead_letter(id)
    except NotFound:
        return None


def _fits(row: DeadLetterRow, asked: BulkAsked, before: datetime) -> bool:
    which = asked.which
    return (
        row.at < before
        and which.kind in (None, row.kind)
        and which.task_id in (None, row.task_id)
        and (which.created_from is None or row.at >= which.created_from)
        and (which.created_before is None or row.at < which.created_before)
    )
