"""Declared tasks and their addresses, which several processes write at once."""

from __future__ import annotations

from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Column
from tenuto.store.task_columns import TaskColumns, task_columns, task_row
from tenuto.store.task_protocol import TargetRow, TaskRow


async def put_task(pool: Pool, new: TaskRow) -> bool:
    verb = "insert_task" if new.version == 1 else "update_task"
    if await pool.rows(verb, task_columns(new)._asdict()):
        return True
    # The same one, where the answer to the first try got lost.
    return await task(pool, new.tenant, new.id) == new


async def task(pool: Pool, tenant: str, id: str) -> TaskRow | None:
    found = await pool.rows("task", {"tenant": tenant, "id": id})
    return task_row(TaskColumns._make(found[0])) if found else None


async def tasks(pool: Pool, tenant: str, after: str, limit: int) -> list[TaskRow]:
    which: dict[str, Column] = {"tenant": tenant, "after": after, "limit": limit}
    return [task_row(TaskColumns._make(row)) for row in await pool.rows("tasks", which)]


async def pushed_tasks(pool: Pool, after: tuple[str, str], limit: int) -> list[TaskRow]:
    which: dict[str, Column] = {"tenant": after[0], "id": after[1], "limit": limit}
    return [task_row(TaskColumns._make(row)) for row in await pool.rows("pushed_tasks", which)]


async def pushed_with_jobs(pool: Pool) -> list[tuple[str, str]]:
    return [(tenant, id) for tenant, id in await pool.rows("pushed_with_jobs", {})]


async def all_tasks(pool: Pool, after: tuple[str, str], limit: int) -> list[TaskRow]:
    which: dict[str, Column] = {"tenant": after[0], "id": after[1], "limit": limit}
    return [task_row(TaskColumns._make(row)) for row in await pool.rows("all_tasks", which)]


async def remove_task(pool: Pool, tenant: str, id: str) -> bool:
    return bool(await pool.rows("remove_task", {"tenant": tenant, "id": id}))


async def target(pool: Pool, tenant: str, task_id: str) -> TargetRow | None:
    found = await pool.rows("push_target", {"tenant": tenant, "task_id": task_id})
    return TargetRow(*found[0]) if found else None


async def put_target(pool: Pool, tenant: str, task_id: str, new: TargetRow) -> bool:
    verb = "insert_push_target" if new.version == 1 else "update_push_target"
    which: dict[str, Column] = {
        "tenant": tenant,
        "task_id": task_id,
        "version": new.version,
        "state": new.state,
    }
    return bool(await pool.rows(verb, which)) or await target(pool, tenant, task_id) == new
