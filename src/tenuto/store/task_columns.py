"""Declared tasks as rows; the same for every store."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.parts.tasks import TaskRow, TasksMark


class TaskColumns(NamedTuple):
    """A row of task_definitions."""

    tenant: str
    id: str
    version: int
    document: bytes
    is_pushed: bool
    created_at: int
    updated_at: int


def task_columns(task: TaskRow) -> TaskColumns:
    return TaskColumns(
        task.tenant,
        task.id,
        task.version,
        task.document,
        task.is_pushed,
        epoch_ms(task.created_at),
        epoch_ms(task.updated_at),
    )


def task_row(columns: TaskColumns) -> TaskRow:
    return TaskRow(
        tenant=columns.tenant,
        id=columns.id,
        version=columns.version,
        document=columns.document,
        is_pushed=bool(columns.is_pushed),
        created_at=from_epoch_ms(columns.created_at),
        updated_at=from_epoch_ms(columns.updated_at),
    )


def mark_of(tasks: Collection[TaskRow]) -> TasksMark:
    """The mark of exactly these tasks."""
    return TasksMark(
        number=len(tasks),
        versions=sum(each.version for each in tasks),
        newest=max((epoch_ms(each.updated_at) for each in tasks), default=0),
    )
