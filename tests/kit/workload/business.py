"""Working time and SLAs: in documents that were drawn without them, and in shapes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from random import Random

from tenuto.calendars import Hours, Span, WorkingCalendar
from tenuto.calendars.working_calendar import with_version
from tests.kit.checker.working_time import CALENDAR
from tests.kit.workload.drawing import Document, Json, document, edges, node, task

_HALVES: Hours = tuple(Span(60 * hour, 60 * hour + 30) for hour in range(24))
HALVES: Mapping[str, WorkingCalendar] = {
    CALENDAR: with_version(
        WorkingCalendar(
            id=CALENDAR,
            timezone="UTC",
            week=(_HALVES,) * 7,
            first_year=2023,
            last_year=2036,
        )
    )
}
"""The calendar of the checker, as the product has it."""


class Calendars:
    """What every process of a simulated run knows of calendars."""

    def known(self, tenant: str) -> Mapping[str, WorkingCalendar]:
        return HALVES

    def digest(self, tenant: str) -> str:
        return HALVES[CALENDAR].version


def with_working_time(drawn: Document, seed: int | str) -> Document:
    """The same workflow, some of whose durations are counted in working time, with SLAs."""
    random = Random(f"working time {seed}")
    made = deepcopy(drawn)
    for each in made.get("nodes") or ():
        _add(each["type"], each["config"], random)
    options = made.setdefault("options", {})
    if "timeout" in options and random.random() < 0.5:
        options["timeout"] = _counted(options["timeout"])
    if random.random() < 0.5:
        options["sla"] = _sla(random)
    if not options:
        del made["options"]
    return made


def _add(type: str, config: Document, random: Random) -> None:
    if type in ("delay", "approval") and random.random() < 0.6:
        config["calendar"] = CALENDAR
    if "eventTimeout" in config and random.random() < 0.6:
        config["eventTimeout"] = {**config["eventTimeout"], "calendar": CALENDAR}
    if "timeout" in config and random.random() < 0.6:
        config["timeout"] = _counted(config["timeout"])
    if "retry" in config and random.random() < 0.4:
        config["retry"] = {**config["retry"], "calendar": CALENDAR}
    if type not in ("start", "end", "terminate", "condition", "set") and random.random() < 0.4:
        config["sla"] = _sla(random)


def _counted(duration: Json) -> Document:
    return {"duration": duration, "calendar": CALENDAR}


def _sla(random: Random) -> Document:
    promise: Document = random.choice(
        (
            {"warnAfter": "PT1S", "breachAfter": "PT2S"},
            {"warnAfter": "PT30S", "breachAfter": "PT2H"},
            {"breachAfter": "PT5M"},
            {"warnAfter": "PT0.5S"},
        )
    )
    return {**promise, "calendar": CALENDAR} if random.random() < 0.5 else dict(promise)


def office_hours() -> Document:
    """Every kind of duration in working time, one after the other, under an SLA."""
    here = {"calendar": CALENDAR}
    nap = node("nap", "delay", duration="PT40M", **here)
    wait = node("wait", "eventWait", eventPattern="evt.wait", eventTimeout=_counted("PT50M"))
    asked = node(
        "asked",
        "approval",
        assignees={"users": ["ann"]},
        deadline="PT2H",
        reminders=["PT35M", "PT1H"],
        escalate={"after": "PT45M", "assignees": {"users": ["zoe"]}},
        **here,
    )
    retry = {"maxAttempts": 3, "initialDelay": "PT40M", "multiplier": 1, **here}
    tried = task("tried", "flaky", retry=retry, timeout=_counted("PT20M"))
    sla = {"warnAfter": "PT30M", "breachAfter": "PT3H", **here}
    tried["config"]["sla"] = {"warnAfter": "PT10M", "breachAfter": "PT1H", **here}
    nodes = [task("first"), nap, tried, wait, asked, task("last")]
    ways = ("first > nap > tried > wait:timeout > asked:timeout > last", "wait > last")
    options = {"sla": sla, "timeout": _counted("P2D")}
    return document("office-hours", nodes, edges(*ways), **options)


def promised() -> Document:
    """SLAs of the instance, of steps and of a loop with its iterations."""
    soon: Document = {"warnAfter": "PT1S", "breachAfter": "PT5S"}
    each = node("each", "loop", source=[1, 2, 3], mode="parallel", concurrency=2, sla=soon)
    inner = task("inner", "slow")
    inner["config"]["sla"] = soon
    wait = node("wait", "eventWait", eventPattern="evt.wait", eventTimeout={"duration": "PT1M"})
    wait["config"]["sla"] = soon
    nodes = [task("first"), each, inner, wait, task("last")]
    ways = ("first > each:loop > inner", "each:done > wait > last", "wait:timeout > last")
    return document("promised", nodes, edges(*ways), sla=soon)


def business_shapes() -> dict[str, Document]:
    """All of them, by id."""
    return {str(made["id"]): made for made in (office_hours(), promised())}
