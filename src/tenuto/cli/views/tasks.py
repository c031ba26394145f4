"""Declared tasks as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from tenuto.cli.views.terminal import ago, one_line, table_of
from tenuto.cli.views.workers import takers
from tenuto.model.json import JSON, Object
from tenuto.workspace.values import DeclaredTask, WorkerStatus

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def tasks_table(
    found: Sequence[DeclaredTask], workers: Sequence[WorkerStatus], now: datetime
) -> Table:
    """Tasks, a line each, with the policies that hold where a step sets none, and their workers."""
    cells: list[list[str | Text]] = []
    for each in found:
        code = each.registered[0] if each.registered else None
        retry = each.retry or (None if code is None else code.retry)
        timeout = each.timeout or (None if code is None else code.timeout)
        registered = list(dict.fromkeys(one.worker_id for one in each.registered))
        number, seen = _workers(each, workers, now)
        cells.append(
            [
                each.id,
                each.kind,
                _retry(retry),
                "-" if timeout is None else str(timeout),
                ago(each.updated_at, now),
                number,
                seen,
                each.url or ", ".join(registered),
                one_line(each.description or "", 60),
            ]
        )
    names = ("ID", "KIND", "RETRIES", "TIMEOUT", "CHANGED", "WORKERS", "SEEN", "RUN BY")
    return table_of((*names, "DESCRIPTION"), cells, whole=7)


def task_json(shown: DeclaredTask, workers: Sequence[WorkerStatus]) -> Object:
    """A task with the names of the API, and the connected workers that take it."""
    item: Object = msgspec.to_builtins(shown)
    for name in ("secret", "tag"):
        item.pop(name, None)
    if shown.kind == "pull":
        item["workers"] = [each.worker_id for each in takers(workers, shown.id)]
    return item


def _workers(
    shown: DeclaredTask, workers: Sequence[WorkerStatus], now: datetime
) -> tuple[str, str]:
    """How many connected workers take a task, and when the last of them was seen."""
    if shown.kind != "pull":
        return "-", "-"
    found = takers(workers, shown.id)
    seen = max((each.last_seen for each in found), default=None)
    return str(len(found)), "-" if seen is None else ago(seen, now)


def _retry(policy: dict[str, JSON] | None) -> str:
    if not policy:
        return "-"
    return f"{policy.get('maxAttempts', '?')} attempts"
