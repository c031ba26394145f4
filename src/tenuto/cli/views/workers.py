"""Workers as a table and as JSON, and which of them take a task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from tenuto.cli.views.tables import table_of
from tenuto.cli.views.terminal import ago
from tenuto.model.json import Object
from tenuto.workspace.values import WorkerStatus

if TYPE_CHECKING:
    from rich.text import Text


def workers_table(found: Sequence[WorkerStatus], now: datetime) -> Text:
    """Workers, a line each."""
    cells = [
        [
            each.worker_id,
            "yes" if each.is_connected else "no",
            str(each.running),
            ago(each.since, now),
            ago(each.last_seen, now),
            _tasks(each),
        ]
        for each in found
    ]
    return table_of(("ID", "CONNECTED", "RUNNING", "SINCE", "SEEN", "TASKS"), cells, whole=5)


def worker_json(shown: WorkerStatus) -> Object:
    """A worker with the names of the API."""
    item: Object = msgspec.to_builtins(shown)
    return item


def takers(found: Sequence[WorkerStatus], task_id: str) -> list[WorkerStatus]:
    """The connected workers that take a task; one with more tasks than are known may take it."""
    return [
        each
        for each in found
        if each.is_connected
        and (each.task_ids is None or task_id in each.task_ids or each.tasks_left_out)
    ]


def _tasks(shown: WorkerStatus) -> str:
    if shown.task_ids is None:
        return "any"
    more = f" and {shown.tasks_left_out} more" if shown.tasks_left_out else ""
    return ", ".join(shown.task_ids) + more
