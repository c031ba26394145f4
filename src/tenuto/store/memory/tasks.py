"""Declared tasks and the state of their addresses, over tables in memory."""

from __future__ import annotations

from tenuto.store.memory.context import MemoryPart
from tenuto.store.memory.disk import Job, MemoryDisk, pack, unpack
from tenuto.store.parts.tasks import TargetRow, TaskRow, TasksMark
from tenuto.store.task_columns import TaskColumns, mark_of, task_columns, task_row


class MemoryTasks(MemoryPart):
    """Tasks and addresses by tenant and id of the task."""

    async def put(self, task: TaskRow) -> bool:
        self._context.require_open()
        disk = self._disk
        found = await self.get(task.tenant, task.id)
        if found is not None and found.version == task.version:
            return found == task
        if task.version != (0 if found is None else found.version) + 1:
            return False
        if found is not None and found.created_at != task.created_at:
            return False
        with disk.transaction():
            disk.put(disk.tasks, (task.tenant, task.id), pack(task_columns(task)))
        return True

    async def get(self, tenant: str, id: str) -> TaskRow | None:
        found = self._disk.tasks.get((tenant, id))
        return None if found is None else task_row(unpack(TaskColumns, found))

    async def page(self, tenant: str, *, after: str = "", limit: int = 1_000) -> list[TaskRow]:
        tasks = self._disk.tasks
        keys = sorted(key for key in tasks if key[0] == tenant and key[1] > after)
        return [task_row(unpack(TaskColumns, tasks[key])) for key in keys[:limit]]

    async def pushed(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return pushed_tasks(self._disk, after)[:limit]

    async def pushed_with_jobs(self) -> list[tuple[str, str]]:
        disk = self._disk
        offered = {
            (job.tenant, job.task_id)
            for job in (unpack(Job, row) for row in disk.jobs.values())
            if job.is_free
        }
        keys = [(row.tenant, row.id) for row in pushed_tasks(disk)]
        return [key for key in keys if key in offered]

    async def every(
        self, *, after: tuple[str, str] = ("", ""), limit: int = 1_000
    ) -> list[TaskRow]:
        return _every(self._disk, after)[:limit]

    async def remove(self, tenant: str, id: str) -> bool:
        self._context.require_open()
        disk = self._disk
        if (tenant, id) not in disk.tasks:
            return False
        with disk.transaction():
            disk.drop(disk.tasks, (tenant, id))
            disk.drop(disk.push_targets, (tenant, id))
        return True

    async def target(self, tenant: str, task_id: str) -> TargetRow | None:
        return self._disk.push_targets.get((tenant, task_id))

    async def put_target(self, tenant: str, task_id: str, target: TargetRow) -> bool:
        self._context.require_open()
        disk = self._disk
        found = disk.push_targets.get((tenant, task_id))
        if found is not None and found.version == target.version:
            return found == target
        if target.version != (0 if found is None else found.version) + 1:
            return False
        with disk.transaction():
            disk.put(disk.push_targets, (tenant, task_id), target)
        return True


def tasks_mark(disk: MemoryDisk) -> TasksMark:
    """The mark of all declared tasks."""
    return mark_of(_every(disk)) if disk.tasks else TasksMark()


def pushed_tasks(disk: MemoryDisk, after: tuple[str, str] = ("", "")) -> list[TaskRow]:
    """Tasks of all tenants that are pushed, by tenant and id."""
    return [row for row in _every(disk, after) if row.is_pushed]


def _every(disk: MemoryDisk, after: tuple[str, str] = ("", "")) -> list[TaskRow]:
    keys = sorted(key for key in disk.tasks if key > after)
    return [task_row(unpack(TaskColumns, disk.tasks[key])) for key in keys]
