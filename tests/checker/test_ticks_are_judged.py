"""The checker finds every broken promise about ticks, and none in a run that keeps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tests.kit.checker.ticks import Begun, Plan, Tick, broken

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = [BEGIN + timedelta(hours=hour) for hour in range(6)]
MINUTE = timedelta(minutes=1)


def plan(overlap: str = "allow", catch_up: str = "all") -> Plan:
    return Plan("s", TIMES, overlap, catch_up)


def started(at: datetime) -> Tick:
    return Tick(at, None, 1, "started", f"of {at}", at, is_open=False)


def begun(at: datetime) -> Begun:
    return Begun(f"of {at}", at, at, at + MINUTE)


TICKS = [started(at) for at in TIMES]
BEGUN = [begun(at) for at in TIMES]
MISSED = Tick(TIMES[1], TIMES[2], 2, "missed", None, TIMES[3], is_open=False)


def judged(plan: Plan, ticks: Sequence[Tick], instances: Sequence[Begun]) -> set[str]:
    return {each.promise for each in broken(plan, ticks, instances)}


def test_what_keeps_its_promises_is_not_complained_of() -> None:
    assert judged(plan(), TICKS, BEGUN) == set()
    ticks = [TICKS[0], MISSED, *TICKS[3:]]
    assert judged(plan("queue", "one"), ticks, [BEGUN[0], *BEGUN[3:]]) == set()


CORRUPTIONS: list[tuple[str, Callable[[], set[str]]]] = [
    ("T1", lambda: judged(plan(), TICKS, [*BEGUN, BEGUN[2]._replace(id="another")])),
    ("T2", lambda: judged(plan(), TICKS, BEGUN[1:])),
    ("T2", lambda: judged(plan("allow", "one"), [TICKS[0], MISSED, *TICKS[3:]], BEGUN)),
    ("T2", lambda: judged(plan(), [TICKS[0]._replace(instance=BEGUN[1].id), *TICKS[1:]], BEGUN)),
    ("T3", lambda: judged(plan(), TICKS[:-1], BEGUN)),
    ("T3", lambda: judged(plan(), [*TICKS, TICKS[0]], BEGUN)),
    ("T3", lambda: judged(plan(), [*TICKS, started(TIMES[0] + MINUTE)], BEGUN)),
    (
        "T3",
        lambda: judged(
            plan("allow", "one"),
            [TICKS[0], MISSED._replace(number=3), *TICKS[3:]],
            [BEGUN[0], *BEGUN[3:]],
        ),
    ),
    ("T4", lambda: judged(plan(), TICKS, [BEGUN[0]._replace(created=BEGIN - MINUTE), *BEGUN[1:]])),
    ("T5", lambda: judged(plan(), [TICKS[0], MISSED, *TICKS[3:]], [BEGUN[0], *BEGUN[3:]])),
    ("T6", lambda: judged(plan("skip"), TICKS, [BEGUN[0]._replace(ended=TIMES[2]), *BEGUN[1:]])),
    ("T7", lambda: judged(plan(), [*TICKS[:-1], TICKS[-1]._replace(is_open=True)], BEGUN)),
    ("T7", lambda: judged(plan("queue", "one"), [*TICKS[:-1], _waiting()], BEGUN[:-1])),
]


def _waiting() -> Tick:
    return TICKS[-1]._replace(outcome="queued", instance=None, is_open=True)


@pytest.mark.parametrize(("promise", "corrupted"), CORRUPTIONS)
def test_each_broken_promise_is_found(promise: str, corrupted: Callable[[], set[str]]) -> None:
    assert promise in corrupted()
