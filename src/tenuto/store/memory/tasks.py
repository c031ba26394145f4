"""Declared tasks and their addresses, over tables in memory."""

from __future__ import annotations

from tenuto.store.memory.disk import MemoryDisk, pack, unpack
from tenuto.store.task_columns import TaskColumns, mark_of, task_columns, task_row
from tenuto.store.task_protocol import TargetRow, TaskRow, TasksMark


def put_task(disk: MemoryDisk, new: TaskRow) -> bool:
    there = task(disk, new.tenant, new.id)
    if there is not None and there.version == new.version:
        return there == new
    if new.version != (0 if there is None else there.version) + 1:
        return False
    if there is not None and there.created_at != new.created_at:
        return False
    with disk.transaction():
        disk.put(disk.tasks, (new.tenant, new.id), pack(task_columns(new)))
    return True


def task(disk: MemoryDisk, tenant: str, id: str) -> TaskRow | None:
    found = disk.tasks.get((tenant, id))
    return None if found is None else task_row(unpack(TaskColumns, found))


def tasks(disk: MemoryDisk, tenant: str, after: str, limit: int) -> list[TaskRow]:
    keys = sorted(key for key in disk.tasks if key[0] == tenant and key[1] > after)
    return [task_row(unpack(TaskColumns, disk.tasks[key])) for key in keys[:limit]]


def all_tasks(disk: MemoryDisk, after: tuple[str, str] = ("", "")) -> list[TaskRow]:
    keys = sorted(key for key in disk.tasks if key > after)
    return [task_row(unpack(TaskColumns, disk.tasks[key])) for key in keys]


def pushed_tasks(disk: MemoryDisk, after: tuple[str, str] = ("", "")) -> list[TaskRow]:
    return [row for row in all_tasks(disk, after) if row.is_pushed]


def tasks_mark(disk: MemoryDisk) -> TasksMark:
    if not disk.tasks:
        return TasksMark()
    return mark_of(all_tasks(disk))


def remove_task(disk: MemoryDisk, tenant: str, id: str) -> bool:
    if (tenant, id) not in disk.tasks:
        return False
    with disk.transaction():
        disk.drop(disk.tasks, (tenant, id))
        disk.drop(disk.push_targets, (tenant, id))
    return True


def target(disk: MemoryDisk, tenant: str, task_id: str) -> TargetRow | None:
    return disk.push_targets.get((tenant, task_id))


def put_target(disk: MemoryDisk, tenant: str, task_id: str, new: TargetRow) -> bool:
    there = target(disk, tenant, task_id)
    if there is not None and there.version == new.version:
        return there == new
    if new.version != (0 if there is None else there.version) + 1:
        return False
    with disk.transaction():
        disk.put(disk.push_targets, (tenant, task_id), new)
    return True
