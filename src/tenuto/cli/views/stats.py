"""Statistics as text."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tenuto.cli.views.marks import STATUS_MARKS
from tenuto.cli.views.tables import table_of
from tenuto.cli.views.terminal import ago, show, show_line, styled
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status

if TYPE_CHECKING:
    from rich.text import Text

_ENDS = ("COMPLETED", "FAILED", "CANCELLED")
_MINUTES = ("started", "completed", "failed", "cancelled")


def show_stats(found: Object, now: datetime, described: str) -> None:
    """What came since, by status and workflow, what happened in the last hour, and queues."""
    least = "" if found["isComplete"] else "at least "
    since = ago(datetime.fromisoformat(str(found["since"])), now)
    show(styled(f"{least}{found['total']} instances", "bold", f"  since {since}, in {described}"))
    counts = _counts(found["byStatus"])
    for status in Status:
        if status.value in counts:
            mark, style = STATUS_MARKS[status]
            show(styled(f"  {mark} {status.value:<18}", style, f"  {counts[status.value]:>6}"))
    _show_workflows(found["byWorkflow"])
    _show_last_hour(minutes_of(found))
    show("")
    show(f"tasks that no worker has claimed  {_queue(found['jobs'], now)}")
    show(f"webhook requests on their way     {_queue(found['webhooks'], now)}")
    if found["isCatchingUp"]:
        show("events are still being matched that another process left")


def minutes_of(found: Object) -> list[Object]:
    """The counts of each minute of the last hour."""
    minutes = found["perMinute"]
    assert isinstance(minutes, list)
    return [each for each in minutes if isinstance(each, dict)]


def _show_workflows(found: JSON) -> None:
    assert isinstance(found, list)
    rows: list[list[str | Text]] = []
    for each in found:
        assert isinstance(each, dict)
        counts = _counts(each["byStatus"])
        ended = [counts.pop(name, 0) for name in _ENDS]
        numbers = (each["total"], sum(counts.values()), *ended)
        rows.append([f"  {each['workflowId']}", *map(str, numbers)])
    if rows:
        show("")
        show(table_of(("  WORKFLOW", "ALL", "OPEN", *_ENDS), rows, whole=6))


def _show_last_hour(minutes: list[Object]) -> None:
    sums = [f"{sum(int(str(each[name])) for each in minutes)} {name}" for name in _MINUTES]
    show("")
    show_line(f"in the last hour                  {', '.join(sums)}")


def _queue(found: JSON, now: datetime) -> str:
    assert isinstance(found, dict)
    oldest = found["oldest"]
    since = (
        "" if oldest is None else f", the oldest {ago(datetime.fromisoformat(str(oldest)), now)}"
    )
    return f"{found['count']}{since}"


def _counts(found: JSON) -> dict[str, int]:
    assert isinstance(found, dict)
    return {name: int(str(count)) for name, count in found.items()}
