"""Bulk operations of a workspace."""

from __future__ import annotations

from typing import Literal, Protocol

from tenuto.workspace.values import BulkOperation, DeadLetterFilter, InstanceFilter


class Bulk(Protocol):
    """Actions over many instances or dead letters: durable, with progress."""

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
        ...

    async def start_on_dead_letters(
        self,
        action: Literal["retry", "discard"],
        which: DeadLetterFilter,
        *,
        dry_run: bool = False,
        key: str | None = None,
    ) -> BulkOperation:
        """Act on all dead letters that the filter finds; with `dry_run` only count them."""
        ...

    async def get(self, id: str) -> BulkOperation:
        """A bulk operation and its progress; NotFound."""
        ...

    async def cancel(self, id: str) -> BulkOperation:
        """Stop a bulk operation; finished items are not reverted. NotFound."""
        ...

    async def list(self, limit: int = 100) -> list[BulkOperation]:
        """Bulk operations, newest first."""
        ...
