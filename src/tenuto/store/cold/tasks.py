"""Declared tasks, and the state of the addresses that they are pushed to."""

from __future__ import annotations

from tenuto.store.cold.port import Parameters, RowPort
from tenuto.store.looking import looked_for
from tenuto.store.parts.tasks import TargetRow, TaskRow
from tenuto.store.task_columns import TaskColumns, task_columns, task_row


class TaskRecords:
    """Declared tasks in a table."""

    def __init__(self, port: RowPort) -> None:
        self._port = port

    async def put(self, task: TaskRow) -> bool:
        verb = "insert_task" if task.version == 1 else "update_task"
        if await self._port.write_beside(verb, task_columns(task)._asdict()):
            return True
        # The same task, where the answer to the first attempt was lost.
        return await self.get(task.tenant, task.id) == task

    async def get(self, tenant: str, id: str) -> TaskRow | None:
        found = await self._tasks("task", {"tenant": tenant, "id": id})
        return found[0] if found else None

    async def page(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]:
        return await self._tasks("tasks", {"tenant": tenant, "after": after, "limit": limit})

    async def pushed(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        tenant, id = after
        return await self._tasks("pushed_tasks", {"tenant": tenant, "id": id, "limit": limit})

    async def pushed_with_jobs(self) -> list[tuple[str, str]]:
        return [(tenant, id) for tenant, id in await self._port.rows("pushed_with_jobs", {})]

    async def every(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        tenant, id = after
        return await self._tasks("all_tasks", {"tenant": tenant, "id": id, "limit": limit})

    async def remove(self, tenant: str, id: str) -> bool:
        return bool(await self._port.write_beside("remove_task", {"tenant": tenant, "id": id}))

    async def target(self, tenant: str, task_id: str) -> TargetRow | None:
        found = await self._port.rows("push_target", {"tenant": tenant, "task_id": task_id})
        return TargetRow(*found[0]) if found else None

    async def put_target(self, tenant: str, task_id: str, target: TargetRow) -> bool:
        verb = "insert_push_target" if target.version == 1 else "update_push_target"
        which = {"tenant": tenant, "task_id": task_id, **target._asdict()}
        return bool(await self._port.write_beside(verb, which)) or (
            await self.target(tenant, task_id) == target
        )

    async def _tasks(self, name: str, which: Parameters) -> list[TaskRow]:
        found = await looked_for(self._port.rows(name, which), nothing=[])
        return [task_row(TaskColumns._make(row)) for row in found]
