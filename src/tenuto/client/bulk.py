"""The bulk operations of a server."""

from __future__ import annotations

from typing import Literal

import msgspec

from tenuto.client.operations import Operations
from tenuto.client.pages import up_to
from tenuto.model.json import Object
from tenuto.workspace.values import BulkOperation, DeadLetterFilter, InstanceFilter


class RemoteBulk:
    """Actions over many instances or dead letters: durable, with progress."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def start(
        self,
        action: Literal["cancel", "pause", "resume", "retry"],
        which: InstanceFilter,
        *,
        reason: str | None = None,
        should_compensate: bool = True,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Act on all instances that the filter finds; with `dry_run` only count them.

        Without a status, the filter selects the instances to which the action can apply. At most
        one operation is started under a `key`. InvalidInput for an empty filter.
        """
        return await self._operations.start_bulk(
            action=action,
            filter=_said(which),
            reason=reason,
            should_compensate=should_compensate,
            dry_run=dry_run,
            key=key,
        )

    async def start_on_dead_letters(
        self,
        action: Literal["retry", "discard"],
        which: DeadLetterFilter,
        *,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Act on all dead letters that the filter finds; with `dry_run` only count them."""
        return await self._operations.start_bulk_of_dead_letters(
            action=action, filter=_said(which), dry_run=dry_run, key=key
        )

    async def get(self, id: str) -> BulkOperation:
        """A bulk operation and its progress; NotFound."""
        return await self._operations.get_bulk(id)

    async def cancel(self, id: str) -> BulkOperation:
        """Stop a bulk operation; finished items are not reverted. NotFound."""
        return await self._operations.cancel_bulk(id)

    async def list(self, limit: int = 100) -> list[BulkOperation]:
        """Bulk operations, newest first."""
        return await up_to(limit, self._operations.list_bulks)


def _said(which: InstanceFilter | DeadLetterFilter) -> Object:
    said: Object = msgspec.to_builtins(which)
    return {name: value for name, value in said.items() if value not in (None, False, [], ())}
