"""One step of an instance as text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import one_line, show, styled
from tenuto.model.json import JSON, Object
from tenuto.model.lengths import length

if TYPE_CHECKING:
    from rich.text import Text

_LONGEST: Final = 600
_MOST: Final = 100
_STYLES: Final = {
    "completed": "green",
    "failed": "red",
    "cancelled": "yellow",
    "retrying": "yellow",
}


def show_step(found: Object, logs: str, further: Sequence[str] = ()) -> None:
    """What it was given and gave, each attempt or iteration, and the command for its lines.

    `further` are commands that show more of it.
    """
    turns, steps = found.get("iterations"), found.get("steps")
    count = len(turns) if isinstance(turns, list) else 0
    status = str(found.get("status", f"in {count} iteration{'' if count == 1 else 's'}"))
    iteration = f"[{found['iteration']}]" if found["iteration"] else ""
    name = f"  {found['stepId']}{iteration}  of {found['instanceId']}"
    show(styled(status.upper(), _STYLES.get(status, "bold"), name))
    is_cut = False
    for key in ("join", "template", "input", "output", "error", "childId", "reason"):
        if found.get(key) is not None or (key == "input" and "input" in found):
            text = _said(found[key]) if key == "error" else one_line(found[key], _LONGEST)
            is_cut |= text.endswith("…")
            show(styled(f"  {_NAMES.get(key, key):<10}", "dim", f"  {text}"))
    if steps is None:
        # A command to copy is one line.
        show(f"  {'logs':<10}  {logs}")
    is_cut |= _show_rows("ATTEMPT", "attempt", found.get("attempts"))
    is_cut |= _show_rows("ITERATION", "iteration", turns)
    is_cut |= _show_rows("STEP", "stepId", steps)
    if count:
        show(f"  --step '{found['stepId']}[ITERATION]' shows one of them")
    for command in further:
        show(f"  {command}")
    if is_cut:
        show(styled("  cut; -o json shows all of it", "dim", ""))


_NAMES: Final = {"childId": "child", "template": "written as"}


def _show_rows(title: str, key: str, rows: JSON) -> bool:
    """A table of attempts or iterations; whether something in it is cut."""
    if not isinstance(rows, list) or not rows:
        return False
    cells: list[list[str | Text]] = []
    for row in rows[:_MOST]:
        assert isinstance(row, dict)
        text = _said(row["error"]) if "error" in row else cell(row.get("output", ""), 80)
        more = _back_off(row) if title == "ATTEMPT" else str(row.get("attemptCount", ""))
        times = (_time(row), _queued(row), _took(row))
        begin = (str(row[key]), str(row["status"]), *times, _worker(row))
        cells.append([*begin, text, more, *([] if title == "ATTEMPT" else [_children(row)])])
    last = ("NEXT",) if title == "ATTEMPT" else ("ATTEMPTS", "CHILD")
    titles = (title, "STATUS", "STARTED", "QUEUED", "TOOK", "WORKER", "", *last)
    show("")
    show(table_of(titles, cells, whole=6))
    if len(rows) > _MOST:
        show(f"  {len(rows) - _MOST} more")
    return len(rows) > _MOST or any(str(cell[6]).endswith("…") for cell in cells)


def _said(error: JSON) -> str:
    match error:
        case {"code": code, "message": message}:
            return one_line(f"{code}: {message}", _LONGEST)
        case _:
            return one_line(error, _LONGEST)


def _children(row: Object) -> str:
    ids = row.get("childIds", [row["childId"]] if "childId" in row else [])
    return ", ".join(map(str, ids)) if isinstance(ids, list) else ""


def _time(row: Object) -> str:
    return "" if "startedAt" not in row else _moment(row["startedAt"]).strftime("%H:%M:%S.%f")[:-3]


def _queued(row: Object) -> str:
    waited = row.get("queueTime")
    return length(timedelta(milliseconds=waited)) if isinstance(waited, int) else ""


def _took(row: Object) -> str:
    if isinstance(took := row.get("executionTime"), int):
        return length(timedelta(milliseconds=took))
    if "startedAt" not in row or "endedAt" not in row:
        return ""
    return length(_moment(row["endedAt"]) - _moment(row["startedAt"]))


def _worker(row: Object) -> str:
    """What ran it; of one that was lost that is not recorded."""
    if isinstance(worker := row.get("worker"), str):
        return one_line(worker, 60)
    return "in process" if "executionTime" in row else ""


def _back_off(row: Object) -> str:
    if "nextAttemptAt" not in row or "endedAt" not in row:
        return ""
    return f"after {length(_moment(row['nextAttemptAt']) - _moment(row['endedAt']))}"


def _moment(text: JSON) -> datetime:
    return datetime.fromisoformat(str(text))
