"""`tenuto list`: instances, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tenuto.cli import exits
from tenuto.cli.backends.store import described
from tenuto.cli.looking import looking_at
from tenuto.cli.lookup import short_ids
from tenuto.cli.views.progress import STATUS_MARKS
from tenuto.cli.views.terminal import (
    ago,
    is_narrow,
    length,
    one_line,
    say,
    show,
    show_json,
    table_of,
)
from tenuto.definition.report import did_you_mean
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.store.protocol import InstanceQuery, InstanceRow
from tenuto.workspace.views import summary_of

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


class Which(NamedTuple):
    """Which instances, as somebody typed it."""

    statuses: Sequence[str]
    workflow: str | None
    variables: Sequence[str]


async def list_instances(url: str, which: Which, limit: int, output: str) -> int:
    """Print instances as a table, as JSON or as ids."""
    statuses = _statuses(which.statuses)
    query = InstanceQuery(statuses=statuses, definition_id=which.workflow, limit=limit)
    wanted = _values(which.variables)
    async with looking_at(url) as reader:
        page = await reader.instances(query, wanted)
        now = reader.clock.now()
    if output == "json":
        show_json({"items": [_item(row) for row in page.items], "nextCursor": page.next_after})
    elif output == "id":
        for row in page.items:
            show(row.id)
    elif not page.items:
        say(f"no instances{' like that' if any(which) else ''} in {described(url)}")
    else:
        show(_table(page.items, now))
        if page.next_after is not None:
            say(f"the newest {limit}; --limit shows more", style="dim")
    return exits.DONE


def _statuses(names: Sequence[str]) -> tuple[Status, ...]:
    known = [status.value for status in Status]
    problems = [
        Problem(
            code="TEN-2000",
            path="--status",
            message=f"{name!r} is not a status",
            advice=did_you_mean(name.upper(), known, f"There are {', '.join(known)}."),
        )
        for name in names
        if name.upper() not in known
    ]
    if problems:
        raise InvalidInput("the instances cannot be listed", problems)
    return tuple(Status(name.upper()) for name in names)


def _values(variables: Sequence[str]) -> Object | None:
    """What variables have to have: JSON, or text that is none."""
    if not variables:
        return None
    wanted: Object = {}
    for given in variables:
        name, separator, text = given.partition("=")
        if not separator or not name:
            problem = Problem(
                code="TEN-2000",
                path="--variable",
                message=f"{given!r} is not NAME=VALUE",
                advice='Write a name and a value, such as orderId=7 or customer="7".',
            )
            raise InvalidInput("the instances cannot be listed", [problem])
        try:
            wanted[name] = msgspec.json.decode(text)
        except msgspec.DecodeError:
            wanted[name] = text
    return wanted


def _table(rows: Sequence[InstanceRow], now: datetime) -> Table:
    ids = short_ids([row.id for row in rows]) if is_narrow() else {}
    names = ("STATUS", "ID", "WORKFLOW", "STARTED", "TOOK", "STEP", "ERROR")
    return table_of(names, [_cells(row, now, ids) for row in rows], whole=5)


def _cells(row: InstanceRow, now: datetime, ids: dict[str, str]) -> list[str | Text]:
    from rich.text import Text

    mark, style = STATUS_MARKS[row.status]
    name = row.status.value
    error = summary_of(row).last_error or {}
    begun = row.started_at or row.created_at
    return [
        Text(f"{mark} {name.partition('_')[0] if is_narrow() else name}", style=style),
        ids.get(row.id, row.id),
        f"{row.definition_id}@{row.definition_version}",
        ago(begun, now),
        length((row.completed_at or now) - begun),
        ", ".join(row.current_steps[:3]) or str(error.get("stepId") or ""),
        Text(one_line(f"{error['code']}: {error['message']}", 80) if error else "", "red"),
    ]


def _item(row: InstanceRow) -> Object:
    """An instance in a list, with the names of the specification."""
    from tenuto.model.durations import iso

    summary = summary_of(row)
    return {
        "id": row.id,
        "workflowDefinitionId": row.definition_id,
        "definitionVersion": row.definition_version,
        "status": row.status.value,
        "correlationId": row.correlation_id,
        "createdAt": iso(row.created_at),
        "startedAt": iso(row.started_at) if row.started_at else None,
        "completedAt": iso(row.completed_at) if row.completed_at else None,
        "updatedAt": iso(row.updated_at),
        "currentSteps": list(row.current_steps),
        "lastError": summary.last_error,
    }
