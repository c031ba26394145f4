"""Workers of a workspace."""

from __future__ import annotations

from typing import Protocol

from tenuto.workspace.values import Page, WorkerStatus


class Workers(Protocol):
    """Workers that were seen within the last hour."""

    async def list(self, limit: int = 100) -> list[WorkerStatus]:
        """Workers, ordered by id."""
        ...

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[WorkerStatus]:
        """A page of workers, ordered by id."""
        ...
