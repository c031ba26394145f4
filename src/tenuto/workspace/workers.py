"""The workers of one tenant: which are connected, and the tasks that they take and hold."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from tenuto.ports import Clock
from tenuto.store.parts.workers import WorkerRow
from tenuto.store.protocol import Parts
from tenuto.workspace.portions import page_by_name, size_of_parts
from tenuto.workspace.values import Page, WorkerStatus

_MOST_LEASES = 100_000
"""The most leases that are counted."""


class TenantWorkers:
    """Workers of one tenant that were seen within the last hour."""

    def __init__(self, seen: Parts, clock: Clock, tenant: str) -> None:
        self._seen = seen
        self._clock = clock
        self._tenant = tenant

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[WorkerStatus]:
        """A page of workers, ordered by id; long lists of tasks end it before its limit."""
        now = self._clock.now()

        async def read(after: str, count: int) -> Sequence[WorkerRow]:
            return await self._seen.workers.page(self._tenant, now, after=after, limit=count)

        rows, next_cursor = await page_by_name(
            limit, cursor, read, name=attrgetter("worker_id"), size=_size
        )
        return Page(items=await self._shown(rows), next_cursor=next_cursor)

    async def _shown(self, rows: Sequence[WorkerRow]) -> list[WorkerStatus]:
        if not rows:
            return []
        held = await self._seen.stats.leases_of_workers(
            self._tenant, self._clock.now(), _MOST_LEASES
        )
        return [_worker(row, held.get(row.worker_id, 0)) for row in rows]

    async def list(self, limit: int = 100) -> list[WorkerStatus]:
        """Workers, ordered by id."""
        rows = await self._seen.workers.page(self._tenant, self._clock.now(), limit=limit)
        return await self._shown(rows)


def _size(row: WorkerRow) -> int:
    return size_of_parts(row.worker_id.encode(), "".join(row.task_ids or ()).encode())


def _worker(row: WorkerRow, running: int) -> WorkerStatus:
    return WorkerStatus(
        worker_id=row.worker_id,
        task_ids=None if row.task_ids is None else [*row.task_ids],
        tasks_left_out=row.left_out,
        since=row.first_seen,
        last_seen=row.last_seen,
        running=running,
        is_connected=row.is_connected,
    )
