"""The limits and the queue of a server."""

from __future__ import annotations

import msgspec

from tenuto.client.operations import Operations
from tenuto.model.errors import InvalidDefinition, InvalidInput
from tenuto.model.json import JSON
from tenuto.workspace.limit_values import (
    ChangedLimits,
    LimitUses,
    QueuedInstance,
    SavedQueueRule,
    SetLimits,
)
from tenuto.workspace.values import Page


class RemoteLimits:
    """The limits that count instances of a tenant, and the queue of those that wait."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def get(self) -> SetLimits:
        """The limits of the service and of the tenant."""
        return msgspec.convert(await self._operations.get_concurrency(), SetLimits)

    async def set(
        self, document: JSON, *, only_after: int | None = None, dry_run: bool = False
    ) -> ChangedLimits:
        """Replace the limits of the service and of the tenant; InvalidInput.

        Those that wait are looked at again at once. An instance that runs goes on, also above a
        limit that was lowered. With `only_after` only while that is the version; Conflict. With
        `dry_run` nothing is saved, and `preview` says what the change would do at once.
        """
        tag = None if only_after is None else f'"{only_after}"'
        try:
            saved = await self._operations.put_concurrency(
                document, dry_run=dry_run or None, if_match=tag
            )
        except InvalidDefinition as error:
            raise InvalidInput(error.message, error.problems) from None
        return msgspec.convert(saved, ChangedLimits)

    async def queue(
        self, *, workflow: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[QueuedInstance]:
        """A page of the instances that wait for slots, in their order."""
        found = await self._operations.list_queue(workflow_id=workflow, limit=limit, cursor=cursor)
        items = msgspec.convert(found.items, list[QueuedInstance])
        return Page(items=items, next_cursor=found.next_cursor)

    async def uses(self) -> LimitUses:
        """How full the limits are, how many wait for each, and some that hold its slots."""
        return msgspec.convert(await self._operations.get_concurrency_usage(), LimitUses)

    async def promote(self, instance_id: str) -> None:
        """Let an instance go before those that were not promoted; Conflict: it does not wait."""
        await self._operations.promote_queued(instance_id)

    async def hold(self, instance_id: str) -> None:
        """Keep an instance from being admitted; Conflict: it does not wait."""
        await self._operations.hold_queued(instance_id)

    async def release(self, instance_id: str) -> None:
        """Let an instance that was kept back wait again; Conflict: there is none."""
        await self._operations.release_queued(instance_id)

    async def rules(self) -> list[SavedQueueRule]:
        """The rules of the queue, oldest first."""
        found = await self._operations.list_queue_rules()
        return msgspec.convert(found.items, list[SavedQueueRule])

    async def add_rule(
        self,
        when: str,
        *,
        priority: int | None = None,
        hold: bool = False,
        note: str | None = None,
        confirm: bool = False,
        dry_run: bool = False,
    ) -> SavedQueueRule:
        """Give a priority to instances for which a rule is true, or hold them back; InvalidInput.

        It applies at once to those that wait, and to new ones while it is kept. A rule that
        matches everything needs `confirm`. With `dry_run` it is only counted how many match.
        """
        saved = await self._operations.add_queue_rule(
            when=when, priority=priority, hold=hold, note=note, confirm=confirm, dry_run=dry_run
        )
        return msgspec.convert(saved, SavedQueueRule)

    async def remove_rule(self, id: str) -> None:
        """Remove a rule; what it did to those that wait stays. NotFound."""
        await self._operations.remove_queue_rule(id)
