"""Tasks as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from tenuto.cli.views.inputs import input_line
from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import ago
from tenuto.cli.views.workers import takers
from tenuto.model.json import JSON, Object
from tenuto.model.lengths import length
from tenuto.model.task_definition import TaskLimits
from tenuto.tasks.undo import UNDO
from tenuto.workspace.values import ListedTask, WorkerStatus

if TYPE_CHECKING:
    from rich.text import Text

_PLACES = {"process": "in process", "worker": "worker", "push": "pushed"}


def tasks_table(
    found: Sequence[ListedTask], workers: Sequence[WorkerStatus], now: datetime
) -> Text:
    """Tasks, a line each: where they run, and what holds for steps that set nothing."""
    cells: list[list[str | Text]] = []
    for each in found:
        code = list(dict.fromkeys(one.worker_id for one in each.registered))
        number, seen = _workers(each, workers, now)
        timeout = each.in_force.timeout
        cells.append(
            [
                each.id,
                ", ".join(map(_PLACES.__getitem__, each.runs)) or "nowhere",
                _retry(each.in_force.retry),
                "-" if timeout is None else _length(timeout),
                _limits(each.in_force.limits),
                cell(_input(each), 100),
                number,
                seen,
                each.url or ", ".join(code),
                cell(each.description or "", 60),
            ]
        )
    names = ("ID", "RUNS", "RETRIES", "TIMEOUT", "LIMITS", "INPUT", "WORKERS", "SEEN", "CODE OF")
    return table_of((*names, "DESCRIPTION"), cells, whole=5)


def task_json(shown: ListedTask, workers: Sequence[WorkerStatus]) -> Object:
    """A task with the names of the API, and the connected workers that take it."""
    item: Object = msgspec.to_builtins(shown)
    item.pop("secret", None)
    if shown.kind == "pull":
        item["workerIds"] = [each.worker_id for each in takers(workers, shown.id)]
    return item


def _input(shown: ListedTask) -> str:
    schema = shown.in_force.input_schema
    if schema is None and shown.id.endswith(UNDO):
        return f"output of {shown.id.removesuffix(UNDO)}"
    return input_line(schema)


def _workers(shown: ListedTask, workers: Sequence[WorkerStatus], now: datetime) -> tuple[str, str]:
    """How many connected workers take a task, and when the last of them was seen."""
    if shown.kind != "pull":
        return "-", "-"
    found = takers(workers, shown.id)
    seen = max((each.last_seen for each in found), default=None)
    return str(len(found)), "-" if seen is None else ago(seen, now)


def _length(timeout: str | float) -> str:
    """A time-out of code is in milliseconds."""
    return timeout if isinstance(timeout, str) else length(timedelta(milliseconds=timeout))


def _limits(limits: TaskLimits | None) -> str:
    if not limits:
        return "-"
    parts = [
        "" if limits.concurrency is None else f"{limits.concurrency:,} at once",
        "" if limits.rate_per_second is None else f"{limits.rate_per_second:g}/s",
    ]
    return ", ".join(filter(None, parts))


def _retry(policy: dict[str, JSON] | None) -> str:
    if not policy:
        return "-"
    most = policy.get("maxAttempts", "?")
    return f"{most} attempt{'' if most == 1 else 's'}"
