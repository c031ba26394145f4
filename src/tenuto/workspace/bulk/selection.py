"""The items of a bulk operation, page by page; those made after it began are not among them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from tenuto.engine.engine import Engine
from tenuto.engine.schedules.lookup import CountedTimes
from tenuto.model.durations import iso, parse_moment
from tenuto.model.errors import NotFound
from tenuto.store.parts.dead_letters import DeadLetterPlace, DeadLetterRow
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Parts
from tenuto.workspace.bulk.request import SENSIBLE, BulkAsked, Found
from tenuto.workspace.dead_letters import letter_row
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.letter_causes import found_among
from tenuto.workspace.values import DeadLetterFilter

_MILLISECOND = timedelta(milliseconds=1)
_LOOKS = 10
"""So many pages of dead letters are passed over together where none of them matches."""


class Selection:
    """The items that a filter finds, of those that were made before a moment."""

    def __init__(self, engine: Engine, tenant: str, asked: BulkAsked, before: datetime) -> None:
        self._engine = engine
        self._tenant = tenant
        self._asked = asked
        self._which = asked.which
        self._before = before

    async def page(self, cursor: str | None, limit: int) -> Found:
        """The page that begins at a cursor."""
        if self._asked.is_backfill:
            return await self._ticks(cursor, limit)
        if self._asked.is_on_instances:
            return await self._instances(cursor, limit)
        if self._which.ids:
            return await self._named_letters(cursor, limit)
        return await self._dead_letters(cursor, limit)

    @property
    def is_backfill(self) -> bool:
        """Whether the items are ticks of a schedule."""
        return self._asked.is_backfill

    async def count_ticks(self, cursor: str | None, most: int) -> CountedTimes:
        """How many ticks there are from a cursor on, up to `most`."""
        id, start, end = self._range(cursor)
        try:
            return await self._engine.schedules.count_times(self._tenant, id, start, end, most)
        except NotFound:
            return CountedTimes(0, is_all=True)

    def _range(self, cursor: str | None) -> tuple[str, datetime, datetime]:
        which = self._which
        assert which.schedule_id is not None
        assert which.nominal_from is not None
        assert which.nominal_to is not None
        start = which.nominal_from if cursor is None else parse_moment(cursor)
        return which.schedule_id, start, which.nominal_to

    async def _ticks(self, cursor: str | None, limit: int) -> Found:
        id, start, end = self._range(cursor)
        try:
            times = await self._engine.schedules.nominal_times(self._tenant, id, start, end, limit)
        except NotFound:
            # The schedule was removed: there is nothing left to start.
            return Found((), None)
        # Both ends are included: the next page begins after the last one.
        following = iso(times[-1] + _MILLISECOND) if len(times) == limit else None
        return Found(tuple(map(iso, times)), following)

    async def _instances(self, cursor: str | None, limit: int) -> Found:
        which = self._which
        query = InstanceQuery(
            ids=which.ids,
            statuses=which.statuses or SENSIBLE[self._asked.action],
            definition_id=which.workflow_id,
            correlation_id=which.correlation_id,
            current_step=which.current_step,
            created_from=which.created_from,
            created_before=min(self._before, which.created_before or self._before),
            waiting_for=which.waiting_for,
            roots=which.roots,
            parent_id=which.parent_id,
            limit=limit,
            after=cursor,
        )
        page = await instance_rows(self._engine, self._tenant, query)
        return Found(tuple(row.id for row in page.items), page.next_after)

    async def _dead_letters(self, cursor: str | None, limit: int) -> Found:
        which = self._which
        if cursor is not None:
            below = msgspec.json.decode(cursor, type=DeadLetterPlace)
        else:
            # The newest come first: those that came too late are not read.
            below = DeadLetterPlace(min(self._before, which.created_before or self._before), "", "")
        ids: tuple[str, ...] = ()
        for _ in range(_LOOKS):
            rows = await self._seen.dead_letters.page(self._tenant, limit, below=below)
            ids = await self._fitting(rows)
            is_past = which.created_from is not None and rows and rows[-1].at < which.created_from
            if len(rows) < limit or is_past:
                return Found(ids, None)
            below = DeadLetterPlace(rows[-1].at, rows[-1].id, rows[-1].instance_id)
            if ids:
                break
        return Found(ids, msgspec.json.encode(below).decode())

    async def _named_letters(self, cursor: str | None, limit: int) -> Found:
        """Letters that are named by their ids are looked up, however many others there are."""
        # An older program goes through them all, and leaves another cursor.
        start = int(cursor) if cursor is not None and cursor.isdecimal() else 0
        ids = tuple(dict.fromkeys(self._which.ids))
        found = await asyncio.gather(*map(self._letter, ids[start : start + limit]))
        fitting = await self._fitting([row for row in found if row is not None])
        end = start + limit
        return Found(fitting, str(end) if end < len(ids) else None)

    async def _letter(self, id: str) -> DeadLetterRow | None:
        try:
            return await letter_row(self._seen, self._tenant, id)
        except NotFound:
            return None

    async def _fitting(self, rows: Sequence[DeadLetterRow]) -> tuple[str, ...]:
        """The ids of those letters that the filter finds."""
        which = self._which
        letters = DeadLetterFilter(
            kind=which.kind,
            task_id=which.task_id,
            workflow=which.workflow_id,
            step_id=which.step_id,
            code=which.code,
            instance_id=which.instance_id,
            created_from=which.created_from,
            created_before=min(self._before, which.created_before or self._before),
        )
        found = await found_among(self._seen, self._tenant, rows, letters)
        return tuple(row.id for row in found)

    @property
    def _seen(self) -> Parts:
        return self._engine.store.seen_by(self._tenant)
