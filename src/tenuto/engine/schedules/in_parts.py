"""Reads many schedules in parts: each may have a megabyte."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence

from tenuto.engine.bounds import Bounds
from tenuto.store.parts.schedules import ScheduleKey, ScheduleRow, Schedules, ScheduleStatus

_PAGE = 500


def is_full(rows: Sequence[ScheduleRow], most_bytes: int) -> bool:
    """Whether rows that were read at once ended by their bytes: there may be more."""
    return sum(len(row.content) for row in rows) >= most_bytes


async def in_parts(
    schedules: Schedules, keys: Collection[ScheduleKey], bounds: Bounds
) -> AsyncIterator[list[ScheduleRow]]:
    """Some schedules, as many at once as are advanced at once."""
    rest = sorted(keys)
    while rest:
        some = rest[: bounds.schedules]
        rest = rest[bounds.schedules :]
        rows = await schedules.those(some, bounds.schedule_pass_bytes)
        if is_full(rows, bounds.schedule_pass_bytes):
            rest = [key for key in some if key > rows[-1].key] + rest
        if rows:
            yield rows


async def ids_of_workflow(
    schedules: Schedules, tenant: str, workflow_id: str, status: ScheduleStatus | None = None
) -> AsyncIterator[list[str]]:
    """The ids of the schedules that start a workflow, in pages."""
    after = ""
    while True:
        ids = await schedules.ids_of_workflow(
            tenant, workflow_id, after=after, limit=_PAGE, status=status
        )
        yield ids
        if len(ids) < _PAGE:
            return
        after = ids[-1]
