"""The operation on workers: list those that were seen lately."""

from __future__ import annotations

from tenuto.access.permissions import Permission
from tenuto.api.call import Call
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Page, PageQuery
from tenuto.workspace.values import WorkerStatus

WORKERS = Resource(f"{API}/workers", tag="workers", read=Permission.TASKS_READ)


@WORKERS.get()
async def list_workers(call: Call[PageQuery]) -> Page[WorkerStatus]:
    """List the workers that were seen within the last hour, ordered by id."""
    asked = call.query
    found = await call.workspace.workers.page(limit=asked.limit, cursor=asked.cursor)
    return Page(items=found.items, next_cursor=found.next_cursor)
