"""Limits and queue of a workspace."""

from __future__ import annotations

from typing import Protocol

from tenuto.model.json import JSON
from tenuto.workspace.limit_values import (
    ChangedLimits,
    LimitUses,
    QueuedInstance,
    SavedQueueRule,
    SetLimits,
)
from tenuto.workspace.values import Page


class Limits(Protocol):
    """The limits that count instances of a tenant, and the queue of those that wait."""

    async def get(self) -> SetLimits:
        """The limits of the service and of the tenant."""
        ...

    async def set(
        self, document: JSON, *, only_after: int | None = None, dry_run: bool = False
    ) -> ChangedLimits:
        """Replace the limits of the service and of the tenant; InvalidInput.

        Those that wait are looked at again at once. An instance that runs goes on, also above a
        limit that was lowered. With `only_after` only while that is the version; Conflict. With
        `dry_run` nothing is saved, and `preview` says what the change would do at once.
        """
        ...

    async def queue(
        self, *, workflow: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[QueuedInstance]:
        """A page of the instances that wait for slots, in their order."""
        ...

    async def uses(self) -> LimitUses:
        """How full the limits are, how many wait for each, and some that hold its slots."""
        ...

    async def promote(self, instance_id: str) -> None:
        """Let an instance go before those that were not promoted; Conflict: it does not wait."""
        ...

    async def hold(self, instance_id: str) -> None:
        """Keep an instance from being admitted; Conflict: it does not wait."""
        ...

    async def release(self, instance_id: str) -> None:
        """Let an instance that was kept back wait again; Conflict: there is none."""
        ...

    async def rules(self) -> list[SavedQueueRule]:
        """The rules of the queue, oldest first."""
        ...

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
        ...

    async def remove_rule(self, id: str) -> None:
        """Remove a rule; what it did to those that wait stays. NotFound."""
        ...
