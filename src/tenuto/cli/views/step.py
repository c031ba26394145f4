"""One step of an instance as text."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from tenuto.cli.views.terminal import length, one_line, show, styled, table_of
from tenuto.model.json import JSON, Object

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


def show_step(found: Object, logs: str) -> None:
    """What it was given and gave, each attempt or iteration, and the command for its lines."""
    turns = found.get("iterations")
    count = len(turns) if isinstance(turns, list) else 0
    status = str(found.get("status", f"in {count} iteration{'' if count == 1 else 's'}"))
    iteration = f"[{found['iteration']}]" if found["iteration"] else ""
    name = f"  {found['stepId']}{iteration}  of {found['instanceId']}"
    show(styled(status.upper(), _STYLES.get(status, "bold"), name))
    is_cut = False
    for key in ("join", "input", "output", "error", "childId", "reason"):
        if found.get(key) is not None or (key == "input" and "input" in found):
            text = _said(found[key]) if key == "error" else one_line(found[key], _LONGEST)
            is_cut |= text.endswith("…")
            show(styled(f"  {_NAMES.get(key, key):<10}", "dim", f"  {text}"))
    show(styled(f"  {'logs':<10}", "dim", f"  {logs}"))
    is_cut |= _show_rows("ATTEMPT", "attempt", found.get("attempts"))
    is_cut |= _show_rows("ITERATION", "iteration", turns)
    if count and "status" not in found:
        show(f"  --step '{found['stepId']}[ITERATION]' shows one of them")
    if is_cut:
        show(styled("  cut; -o json shows all of it", "dim", ""))


_NAMES: Final = {"childId": "child"}


def _show_rows(title: str, key: str, rows: JSON) -> bool:
    """A table of attempts or iterations; whether something in it is cut."""
    if not isinstance(rows, list) or not rows:
        return False
    cells: list[list[str | Text]] = []
    for row in rows[:_MOST]:
        assert isinstance(row, dict)
        text = _said(row["error"]) if "error" in row else one_line(row.get("output", ""), 80)
        more = _back_off(row) if title == "ATTEMPT" else str(row.get("attemptCount", ""))
        times = (_time(row), _queued(row), _took(row))
        cells.append([str(row[key]), str(row["status"]), *times, text, more])
    last = "NEXT" if title == "ATTEMPT" else "ATTEMPTS"
    show("")
    show(table_of((title, "STATUS", "STARTED", "QUEUED", "TOOK", "", last), cells, whole=5))
    if len(rows) > _MOST:
        show(f"  {len(rows) - _MOST} more")
    return len(rows) > _MOST or any(str(cell[5]).endswith("…") for cell in cells)


def _said(error: JSON) -> str:
    match error:
        case {"code": code, "message": message}:
            return one_line(f"{code}: {message}", _LONGEST)
        case _:
            return one_line(error, _LONGEST)


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


def _back_off(row: Object) -> str:
    if "nextAttemptAt" not in row or "endedAt" not in row:
        return ""
    return f"after {length(_moment(row['nextAttemptAt']) - _moment(row['endedAt']))}"


def _moment(text: JSON) -> datetime:
    return datetime.fromisoformat(str(text))
