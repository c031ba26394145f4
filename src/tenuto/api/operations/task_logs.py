"""Operations on the lines that tasks log and print."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tenuto.api.call import Call
from tenuto.api.operations.instances import INSTANCES
from tenuto.api.paging import Limit, Page
from tenuto.api.shapes import Answer, Query
from tenuto.model.json import Object
from tenuto.model.task_logs import Stream


class LogsQuery(Query):
    """Which lines."""

    iteration: str | None = None
    """Only of this iteration of a loop."""
    attempt: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    limit: Limit = 1_000
    cursor: str | None = None


class LogItem(Answer):
    """A line that a task logged, with its `level` and `logger`, or printed to a `stream`."""

    step_id: str
    iteration: str
    attempt: int
    number: int
    """Its place in the lines of the attempt, from 0."""
    at: str
    text: str
    stream: Stream | UnsetType = UNSET
    level: str | UnsetType = UNSET
    logger: str | UnsetType = UNSET
    dropped: int | UnsetType = UNSET
    """So many lines are left out here."""


@INSTANCES.get("/{id}/logs", response=Page[LogItem])
async def get_logs(call: Call[LogsQuery]) -> Object:
    """List the lines that the tasks of an instance logged and printed."""
    return await _page(call, None)


@INSTANCES.get("/{id}/steps/{stepId}/logs", response=Page[LogItem])
async def get_step_logs(call: Call[LogsQuery]) -> Object:
    """List the lines that the attempts of one step logged and printed."""
    return await _page(call, call.path["stepId"])


async def _page(call: Call[LogsQuery], step: str | None) -> Object:
    asked = call.query
    page = await call.workspace.at(call.path["id"]).log_page(
        step,
        iteration=asked.iteration,
        attempt=asked.attempt,
        limit=asked.limit,
        cursor=asked.cursor,
    )
    return {"items": [*page.items], "nextCursor": page.next_cursor}
