"""A list of instances as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from tenuto.cli.lookup import short_ids
from tenuto.cli.views.marks import STATUS_MARKS
from tenuto.cli.views.tables import cell, is_narrow, table_of
from tenuto.cli.views.terminal import ago
from tenuto.model.durations import iso
from tenuto.model.json import JSON, Object
from tenuto.model.lengths import length
from tenuto.workspace.values import Summary

if TYPE_CHECKING:
    from rich.text import Text


_MOST_STEPS: Final = 3


def instances_table(
    found: Sequence[Summary], now: datetime, inputs: Mapping[str, JSON] | None = None
) -> Text:
    """Instances, a line each; on a narrow terminal with short ids."""
    ids = short_ids([each.id for each in found]) if is_narrow() else {}
    names = ["STATUS", "ID", "WORKFLOW", "STARTED", "TOOK", "STEP", "SCHEDULE", "ERROR"]
    rows = [_cells(each, now, ids) for each in found]
    if inputs is not None:
        names.append("INPUT")
        rows = [
            [*row, cell(inputs.get(each.id), 60)] for each, row in zip(found, rows, strict=True)
        ]
    return table_of(names, rows, whole=5)


def _cells(shown: Summary, now: datetime, ids: dict[str, str]) -> list[str | Text]:
    from rich.text import Text

    mark, style = STATUS_MARKS[shown.status]
    name = shown.status.value
    error = shown.last_error or {}
    begun = shown.started_at or shown.created_at
    return [
        Text(f"{mark} {name.partition('_')[0] if is_narrow() else name}", style=style),
        ids.get(shown.id, shown.id),
        f"{shown.workflow}@{shown.version}",
        ago(begun, now),
        length((shown.completed_at or now) - begun),
        _steps(shown) or str(error.get("stepId") or ""),
        str((shown.schedule or {}).get("id", "")),
        Text(cell(f"{error['code']}: {error['message']}", 80) if error else "", "red"),
    ]


def _steps(shown: Summary) -> str:
    """The steps that are open; on a narrow terminal the first of them, and how many more."""
    steps = shown.current_steps
    most = _MOST_STEPS if is_narrow() else len(steps)
    more = f" +{len(steps) - most}" if len(steps) > most else ""
    return f"{', '.join(steps[:most])}{more}"


def summary_json(shown: Summary, inputs: Mapping[str, JSON] | None = None) -> Object:
    """An instance in a list, with the names of the specification."""
    given: Object = {} if inputs is None else {"input": inputs.get(shown.id)}
    return {
        **given,
        "id": shown.id,
        "workflowDefinitionId": shown.workflow,
        "definitionVersion": shown.version,
        "status": shown.status.value,
        "correlationId": shown.correlation_id,
        "priority": shown.priority,
        "deadline": iso(shown.deadline) if shown.deadline else None,
        "createdAt": iso(shown.created_at),
        "startedAt": iso(shown.started_at) if shown.started_at else None,
        "completedAt": iso(shown.completed_at) if shown.completed_at else None,
        "updatedAt": iso(shown.updated_at),
        "currentSteps": list(shown.current_steps),
        "output": shown.output,
        "lastError": shown.last_error,
        "cancellation": shown.cancellation,
        "parentId": shown.parent_id,
        "rootId": shown.root_id,
        "rerunOf": shown.rerun_of,
        "schedule": shown.schedule,
        "tenant": shown.tenant,
    }
