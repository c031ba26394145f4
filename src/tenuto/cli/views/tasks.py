"""Declared tasks as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from tenuto.cli.views.terminal import ago, one_line, table_of
from tenuto.model.json import JSON, Object
from tenuto.workspace.values import DeclaredTask

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def tasks_table(found: Sequence[DeclaredTask], now: datetime) -> Table:
    """Tasks, a line each, with the policies that hold where a step sets none."""
    cells: list[list[str | Text]] = []
    for each in found:
        code = each.registered[0] if each.registered else None
        retry = each.retry or (None if code is None else code.retry)
        timeout = each.timeout or (None if code is None else code.timeout)
        workers = list(dict.fromkeys(one.worker_id for one in each.registered))
        cells.append(
            [
                each.id,
                each.kind,
                _retry(retry),
                "-" if timeout is None else str(timeout),
                ago(each.updated_at, now),
                each.url or ", ".join(workers),
                one_line(each.description or "", 60),
            ]
        )
    names = ("ID", "KIND", "RETRIES", "TIMEOUT", "CHANGED", "RUN BY", "DESCRIPTION")
    return table_of(names, cells, whole=5)


def task_json(shown: DeclaredTask) -> Object:
    """A task with the names of the API."""
    item: Object = msgspec.to_builtins(shown)
    for name in ("secret", "tag"):
        item.pop(name, None)
    return item


def _retry(policy: dict[str, JSON] | None) -> str:
    if not policy:
        return "-"
    return f"{policy.get('maxAttempts', '?')} attempts"
