"""Declared tasks, and the state of their push targets."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.rows import columns_of
from tenuto.store.marks import for_tenants, writes


class TaskRow(Struct, frozen=True, gc=False, kw_only=True):
    """A declared task."""

    tenant: str
    id: str
    version: int
    """1, 2, 3, …: rises with each change."""
    document: bytes
    """JSON."""
    is_pushed: bool
    """Whether its jobs are sent to an address, and not claimed by workers."""
    created_at: datetime
    updated_at: datetime


class TasksMark(NamedTuple):
    """A fingerprint of all declared tasks: differs after one is declared, changed or deleted."""

    number: int = 0
    """The number of tasks."""
    versions: int = 0
    """The sum of their versions."""
    newest: int = 0
    """The time of the last change, in milliseconds."""


class TargetRow(NamedTuple):
    """The state of a target of requests, shared by all processes."""

    version: int
    state: bytes
    """JSON."""


class Tasks(ColdPart):
    """Declared tasks. All verbs are safe to repeat.

    After StoreUnavailable it is unknown whether something was written.
    """

    @writes
    async def put(self, task: TaskRow) -> bool:
        """Store a task; False unless its version follows the stored version.

        The stored task must have the same `created_at`, too: a task that was deleted and declared
        again begins with version 1.
        """
        verb = "insert_task" if task.version == 1 else "update_task"
        if await self._port.write_beside(verb, columns_of(task)):
            return True
        # The same task, where the answer to the first attempt was lost.
        return await self.get(task.tenant, task.id) == task

    @for_tenants
    async def get(self, tenant: str, id: str) -> TaskRow | None:
        """A task of a tenant."""
        return await self._one(TaskRow, "task", {"tenant": tenant, "id": id})

    @for_tenants
    async def page(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]:
        """The tasks of a tenant with ids after `after`, ordered by id."""
        which = {"tenant": tenant, "after": after, "limit": limit}
        return await self._found(TaskRow, "tasks", which)

    @for_tenants
    async def names(self, tenant: str, *, limit: int = 1_000) -> dict[str, bool]:
        """The ids of the first tasks of a tenant, and whether each is pushed; no document."""
        which = {"tenant": tenant, "limit": limit}
        ids = await self._port.rows("task_ids", which)
        pushed = {id for (id,) in await self._port.rows("pushed_task_ids", which)}
        return {id: id in pushed for (id,) in ids}

    async def pushed(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        """The pushed tasks of all tenants, after one of them, ordered by tenant and id."""
        tenant, id = after
        which = {"tenant": tenant, "id": id, "limit": limit}
        return await self._found(TaskRow, "pushed_tasks", which)

    async def every(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        """The tasks of all tenants, after one of them, ordered by tenant and id."""
        tenant, id = after
        return await self._found(TaskRow, "all_tasks", {"tenant": tenant, "id": id, "limit": limit})

    @writes
    async def remove(self, tenant: str, id: str) -> bool:
        """Delete a task and the state of its push target; returns whether it existed."""
        return bool(await self._port.write_beside("remove_task", {"tenant": tenant, "id": id}))

    async def target(self, tenant: str, task_id: str) -> TargetRow | None:
        """The state of a task's push target, or of another target; None if there is none yet."""
        found = await self._port.rows("push_target", {"tenant": tenant, "task_id": task_id})
        return TargetRow(*found[0]) if found else None

    @writes
    async def put_target(self, tenant: str, task_id: str, target: TargetRow) -> bool:
        """Store the state of a push target; False unless its version follows the stored one."""
        verb = "insert_push_target" if target.version == 1 else "update_push_target"
        which = {"tenant": tenant, "task_id": task_id, **target._asdict()}
        return bool(await self._port.write_beside(verb, which)) or (
            await self.target(tenant, task_id) == target
        )

    @writes
    async def remove_target(self, tenant: str, task_id: str, version: int) -> None:
        """Delete the state of a target, unless it has changed since that version."""
        which = {"tenant": tenant, "task_id": task_id, "version": version}
        await self._port.write_beside("remove_push_target", which)


def mark_of(tasks: Collection[TaskRow]) -> TasksMark:
    """The mark of exactly these tasks."""
    return TasksMark(
        number=len(tasks),
        versions=sum(each.version for each in tasks),
        newest=max((epoch_ms(each.updated_at) for each in tasks), default=0),
    )
