"""The audit log of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from tenuto.client.operations import Operations
from tenuto.model.json import Object
from tenuto.workspace.values import Page


class RemoteAudit:
    """The audit log of the tenant."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def page(
        self,
        *,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """Lines, newest first; `cursor` is the `next_cursor` of the page before."""
        return await self._operations.list_audit(
            actor=actor,
            action=action,
            target=target,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
        )

    async def export(self) -> AsyncIterator[str]:
        """Every line, oldest first: JSON, with its hash."""
        text = await self._operations.export_audit()
        for line in text.split("\n")[:-1]:
            yield line

    async def verify(self, known: str | None = None) -> Object:
        """Read the chain of hashes: `{tenant, lines, hash, problem}`.

        `known` is a line that the caller noted earlier, as `<number>:<hash>`.
        """
        return await self._operations.verify_audit(known=known)
