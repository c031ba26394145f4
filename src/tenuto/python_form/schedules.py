"""Schedules of workflow functions: their ids, and what is wrong with their times."""

from __future__ import annotations

from tenuto.definition.report import Place, Report
from tenuto.model.errors import Problem

_LONGEST = 120
"""The longest id of a schedule is a little longer."""


def schedule_id(workflow: str) -> str:
    """The id of the schedule that a workflow function has as its argument `cron`."""
    return f"{workflow[:_LONGEST]}.cron"


def time_problems(cron: str, timezone: str | None) -> tuple[Problem, ...]:
    """What is wrong with a cron expression, and with the name of a zone."""
    # For those who use it: they know zones, and the rules of changes of the clock.
    from tenuto.calendars.documents import Zone  # noqa: PLC0415
    from tenuto.schedules.documents import CronText  # noqa: PLC0415

    report = Report()
    place = Place("$", report)
    CronText().read(cron, place.at("cron"))
    if timezone is not None:
        Zone().read(timezone, place.at("timezone"))
    return report.problems
