"""The tasks that are known of one tenant: declared, run by this process, or taken by workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from tenuto.engine.definitions.declared_tasks import with_registered
from tenuto.model.task_definition import NO_LIMITS, TaskDefinition, TaskSettings
from tenuto.store.parts.tasks import TaskRow
from tenuto.store.parts.workers import CONNECTED_FOR
from tenuto.store.protocol import Parts
from tenuto.tasks.registry import Registry
from tenuto.tasks.worker_task import worker_task
from tenuto.workspace.cursors import read_cursor, write_cursor
from tenuto.workspace.portions import in_portions, size_of_parts
from tenuto.workspace.task_queues import Takers
from tenuto.workspace.values import ListedTask, Page

_MOST_WORKERS = 1_000
_decode = msgspec.json.Decoder(TaskDefinition).decode


async def known_tasks(
    seen: Parts,
    tenant: str,
    now: datetime,
    registry: Registry,
    *,
    limit: int,
    cursor: str | None,
) -> Page[ListedTask]:
    """A page of tasks, ordered by id; large schemas end it before its limit."""
    after = read_cursor(cursor, str) or ""

    async def read(count: int, before: Sequence[TaskRow]) -> Sequence[TaskRow]:
        start = before[-1].id if before else after
        return await seen.tasks.page(tenant, after=start, limit=count)

    # A schema is listed as it is declared, and as it is in force.
    rows, has_more = await in_portions(limit, read, lambda row: 2 * size_of_parts(row.document))
    workers = await seen.workers.page(tenant, now, within=CONNECTED_FOR, limit=_MOST_WORKERS)
    declared = {row.id: row for row in rows}
    ids = {*registry, *(id for each in workers for id in each.task_ids or ())}
    last = rows[-1].id if has_more and rows else None
    ids = {id for id in ids if id > after and (last is None or id <= last)} | declared.keys()
    shown = sorted(ids)[:limit]
    takers = Takers(workers)
    items = [_listed(id, declared.get(id), registry, takers.of(id)) for id in shown]
    is_cut = has_more or len(ids) > len(shown)
    return Page(items=items, next_cursor=write_cursor(shown[-1]) if is_cut and shown else None)


def _listed(id: str, row: TaskRow | None, registry: Registry, workers: int) -> ListedTask:
    function = registry.get(id)
    code = TaskSettings() if function is None else worker_task(function)
    task = TaskDefinition(id=id, kind="pull") if row is None else _decode(row.document)
    told = with_registered(task)
    pushed = task.kind == "push"
    runs: list[Literal["process", "worker", "push"]] = ["push"] if pushed else []
    if not pushed and function is not None:
        runs.append("process")
    if not pushed and workers:
        runs.append("worker")
    fields = {name: getattr(task, name) for name in task.__struct_fields__}
    return ListedTask(
        **(fields | {"secret": None}),
        is_declared=row is not None,
        runs=tuple(runs),
        workers=0 if pushed else workers,
        in_force=TaskSettings(
            retry=code.retry if told.retry is None else told.retry,
            timeout=code.timeout if told.timeout is None else told.timeout,
            heartbeat_timeout=code.heartbeat_timeout
            if told.heartbeat_timeout is None
            else told.heartbeat_timeout,
            input_schema=code.input_schema if told.input_schema is None else told.input_schema,
            limits=told.limits.over(code.limits or NO_LIMITS) or None,
        ),
        version=0 if row is None else row.version,
        created_at=None if row is None else row.created_at,
        updated_at=None if row is None else row.updated_at,
    )
