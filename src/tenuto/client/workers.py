"""The workers of a server."""

from __future__ import annotations

from tenuto.client.operations import Operations
from tenuto.client.pages import up_to
from tenuto.workspace.values import Page, WorkerStatus


class RemoteWorkers:
    """Workers that were seen within the last hour."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def list(self, limit: int = 100) -> list[WorkerStatus]:
        """Workers, ordered by id."""
        return await up_to(limit, self._operations.list_workers)

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[WorkerStatus]:
        """A page of workers, ordered by id."""
        return await self._operations.list_workers(limit=limit, cursor=cursor)
