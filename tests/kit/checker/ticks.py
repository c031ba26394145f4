"""The promises about ticks of schedules, checked on what was left behind.

- T1 A nominal time has at most one instance.
- T2 A tick that was started has its instance, and an instance of a tick has been recorded as such.
- T3 Each nominal time up to the end is answered exactly once, and no other one is.
- T4 No tick is started before its time.
- T5 Where all ticks are caught up and may overlap, all of them are started.
- T6 Where ticks must not overlap, no two of their instances run at once.
- T7 At rest no tick waits, or counts as running, that does not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple


class Plan(NamedTuple):
    """A schedule, and the nominal times that an oracle finds for it."""

    id: str
    nominal: Sequence[datetime]
    """In order, up to the end of the run."""
    overlap: str
    catch_up: str


class Tick(NamedTuple):
    """What a schedule says became of a nominal time, or of several."""

    nominal: datetime
    last: datetime | None
    number: int
    outcome: str
    instance: str | None
    recorded: datetime
    is_open: bool


class Begun(NamedTuple):
    """An instance that a tick has started."""

    id: str
    nominal: datetime
    created: datetime
    ended: datetime | None


class Broken(NamedTuple):
    """A promise that was not kept."""

    promise: str
    schedule: str
    what: str


def broken(plan: Plan, ticks: Sequence[Tick], begun: Sequence[Begun]) -> Iterator[Broken]:
    """All promises that were not kept for one schedule."""
    for promise, what in (
        *_twice(begun),
        *_recorded(ticks, begun),
        *_answered(plan, ticks),
        *_early(begun),
        *_all_started(plan, ticks),
        *_overlaps(plan, begun),
        *_at_rest(ticks, begun),
    ):
        yield Broken(promise, plan.id, what)


Found = Iterator[tuple[str, str]]


def _twice(begun: Sequence[Begun]) -> Found:
    for nominal, count in Counter(each.nominal for each in begun).items():
        if count > 1:
            yield "T1", f"{nominal} has {count} instances"


def _recorded(ticks: Sequence[Tick], begun: Sequence[Begun]) -> Found:
    recorded = {each.instance: each.nominal for each in ticks if each.outcome == "started"}
    there = {each.id: each.nominal for each in begun}
    for id, nominal in recorded.items():
        if id is None or there.get(id) != nominal:
            yield "T2", f"{nominal} is said to have started {id}"
    for id, nominal in there.items():
        if id not in recorded:
            yield "T2", f"{id} of {nominal} was started, and is not recorded"


def _answered(plan: Plan, ticks: Sequence[Tick]) -> Found:
    times, expected = list(plan.nominal), set(plan.nominal)
    single = [each for each in ticks if each.last is None]
    answers = Counter(each.nominal for each in single)
    in_ranges = 0
    for each in ticks:
        if each.last is None:
            continue
        covered = times[bisect_left(times, each.nominal) : bisect_right(times, each.last)]
        # A range has the ticks of its kind: others between them are recorded by themselves.
        others = sum(1 for moment in covered if moment in answers)
        if not each.number <= len(covered) <= each.number + others:
            yield "T3", f"{each.number} are said to be {each.outcome} of {len(covered)}"
        in_ranges += each.number
    for moment, count in answers.items():
        if count > 1:
            yield "T3", f"{moment} is answered {count} times"
        if moment not in expected:
            yield "T3", f"{moment} is no time of the schedule"
    if len(answers) + in_ranges != len(times):
        missing = [each for each in times if each not in answers][:3]
        text = ", ".join(map(str, missing))
        yield "T3", f"{len(answers)} + {in_ranges} of {len(times)} are answered, not {text}"


def _early(begun: Sequence[Begun]) -> Found:
    for each in begun:
        if each.created < each.nominal:
            yield "T4", f"{each.id} of {each.nominal} began at {each.created}"


def _all_started(plan: Plan, ticks: Sequence[Tick]) -> Found:
    if plan.overlap == "allow" and plan.catch_up == "all":
        for each in ticks:
            if each.outcome != "started":
                yield "T5", f"{each.nominal} is {each.outcome}"


def _overlaps(plan: Plan, begun: Sequence[Begun]) -> Found:
    if plan.overlap in ("skip", "queue"):
        for earlier, later in pairwise(sorted(begun, key=lambda each: each.created)):
            if earlier.ended is None or later.created < earlier.ended:
                yield "T6", f"{later.id} began while {earlier.id} was running"


def _at_rest(ticks: Sequence[Tick], begun: Sequence[Begun]) -> Found:
    running = {each.id for each in begun if each.ended is None}
    for each in ticks:
        if each.is_open and each.instance not in running:
            yield "T7", f"{each.nominal} is open: {each.outcome}"
