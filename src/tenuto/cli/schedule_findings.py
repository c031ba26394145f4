"""What `tenuto doctor` says about schedules: those in error, late and paused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from tenuto.cli.backends.backend import Finding
from tenuto.model.lengths import length

if TYPE_CHECKING:
    from tenuto.workspace.protocol import Schedules
    from tenuto.workspace.schedule_values import SavedSchedule

_WHAT: Final = "schedule"
_LATE: Final = timedelta(minutes=1)
"""A tick that is later than that is not only delayed by other work."""
_MOST: Final = 1_000
"""So many schedules are looked at."""
_NAMED: Final = 3
"""So many schedules are named."""


async def schedule_findings(schedules: Schedules, now: datetime) -> AsyncIterator[Finding]:
    """How the schedules of a tenant stand; nothing where there are none."""
    page = await schedules.page(limit=_MOST)
    found = page.items
    if not found:
        return
    failing = [each for each in found if each.status == "error"]
    late = [each for each in found if _lateness(each, now) > _LATE]
    paused = [each for each in found if each.status == "paused"]
    for each in failing[:_NAMED]:
        yield Finding(
            what=_WHAT,
            state="warning",
            message=f"{each.id} is in error and starts nothing: {each.problem}",
            advice=f"Mend the cause; it comes back by itself: tenuto schedules show {each.id}",
        )
    if late:
        longest = max(late, key=lambda each: _lateness(each, now))
        yield Finding(
            what=_WHAT,
            state="warning",
            message=f"late: {_names(late)}; up to {length(_lateness(longest, now))}",
            advice="See whether a process works on the store: tenuto serve, or tenuto dev",
        )
    counted = f"{len(found):,}{'+' if page.next_cursor else ''}"
    numbers = [f"{counted} schedules" if counted != "1" else "1 schedule"]
    numbers += [f"{len(failing):,} in error"] if failing else []
    numbers += [f"{len(late):,} late"] if late else []
    numbers += [f"{len(paused):,} paused ({_names(paused)})"] if paused else []
    yield Finding(what=_WHAT, state="ok", message=", ".join(numbers))


def _lateness(schedule: SavedSchedule, now: datetime) -> timedelta:
    """For how long its next tick has been due."""
    if schedule.status != "active" or schedule.next_execution is None:
        return timedelta()
    return max(now - schedule.next_execution, timedelta())


def _names(schedules: Sequence[SavedSchedule]) -> str:
    shown = ", ".join(each.id for each in schedules[:_NAMED])
    more = len(schedules) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown
