"""Dead letters as text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import ago, one_line
from tenuto.model.json import Object
from tenuto.workspace.values import DeadLetterGroup

if TYPE_CHECKING:
    from rich.text import Text


def letters_table(items: Sequence[Object], now: datetime) -> Text:
    """Dead letters, a line each."""
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            str(item["kind"]),
            str(item["id"]),
            str(item["attempts"]),
            ago(datetime.fromisoformat(str(item["at"])), now),
            str(item["stepId"]),
            Text(cell(_error(item) or "", 80), "red"),
        ]
        for item in items
    ]
    return table_of(("KIND", "ID", "ATTEMPTS", "WHEN", "STEP", "ERROR"), cells, whole=4)


def groups_table(found: Sequence[DeadLetterGroup], now: datetime) -> Text:
    """Causes of dead letters, the most frequent first."""
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            str(each.count),
            each.code or "-",
            each.workflow_id or "-",
            each.step_id,
            ago(datetime.fromisoformat(each.last_at), now),
            each.kind,
            Text(cell(each.message or "", 80), "red"),
        ]
        for each in found
    ]
    names = ("COUNT", "CODE", "WORKFLOW", "STEP", "LAST", "KIND", "MESSAGE")
    return table_of(names, cells, whole=5)


def letter_lines(item: Object) -> list[str]:
    """One with its input, error and history."""
    iteration = f"[{item['iteration']}]" if item["iteration"] else ""
    facts = {
        "instance": item["instanceId"],
        "step": f"{item['stepId']}{iteration}",
        "task": item["taskId"],
        "attempts": item["attempts"],
        "at": item["at"],
        "input": one_line(item["input"], 1000),
        "error": _error(item),
        "output": None if item.get("output") is None else one_line(item["output"], 1000),
    }
    # A server of an older version gives no history.
    history = item.get("history") or ()
    assert isinstance(history, list | tuple)
    return [
        f"{item['kind']}  {item['id']}",
        *(f"  {name:<10}  {value}" for name, value in facts.items() if value is not None),
        *(
            f"  {entry['at']}  {entry['eventType']}, attempt {entry['attempt']}"
            for entry in history
            if isinstance(entry, dict)
        ),
    ]


def _error(item: Object) -> str | None:
    error = item["error"]
    return f"{error['code']}: {error['message']}" if isinstance(error, dict) else None
