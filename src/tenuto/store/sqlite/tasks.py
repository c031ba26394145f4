"""Declared tasks and their addresses; statements of one connection."""

from __future__ import annotations

from tenuto.store.sqlite.session import Column, Session
from tenuto.store.task_columns import TaskColumns, task_columns, task_row
from tenuto.store.task_protocol import TargetRow, TaskRow


def put_task(session: Session, new: TaskRow) -> bool:
    verb = "insert_task" if new.version == 1 else "update_task"
    if session.rows(verb, task_columns(new)._asdict()):
        return True
    # The same one, where the answer to the first try got lost.
    return task(session, new.tenant, new.id) == new


def task(session: Session, tenant: str, id: str) -> TaskRow | None:
    found = session.rows("task", (tenant, id))
    return task_row(TaskColumns._make(found[0])) if found else None


def tasks(session: Session, tenant: str, after: str, limit: int) -> list[TaskRow]:
    found = session.rows("tasks", (tenant, after, limit))
    return [task_row(TaskColumns._make(row)) for row in found]


def pushed_tasks(session: Session, after: tuple[str, str], limit: int) -> list[TaskRow]:
    found = session.rows("pushed_tasks", (*after, limit))
    return [task_row(TaskColumns._make(row)) for row in found]


def pushed_with_jobs(session: Session) -> list[tuple[str, str]]:
    return [(tenant, id) for tenant, id in session.rows("pushed_with_jobs")]


def all_tasks(session: Session, after: tuple[str, str], limit: int) -> list[TaskRow]:
    found = session.rows("all_tasks", (*after, limit))
    return [task_row(TaskColumns._make(row)) for row in found]


def remove_task(session: Session, tenant: str, id: str) -> bool:
    session.run("remove_push_target", (tenant, id))
    return bool(session.rows("remove_task", (tenant, id)))


def target(session: Session, tenant: str, task_id: str) -> TargetRow | None:
    found = session.rows("push_target", (tenant, task_id))
    return TargetRow(*found[0]) if found else None


def put_target(session: Session, tenant: str, task_id: str, new: TargetRow) -> bool:
    verb = "insert_push_target" if new.version == 1 else "update_push_target"
    which: dict[str, Column] = {
        "tenant": tenant,
        "task_id": task_id,
        "version": new.version,
        "state": new.state,
    }
    return bool(session.rows(verb, which)) or target(session, tenant, task_id) == new
