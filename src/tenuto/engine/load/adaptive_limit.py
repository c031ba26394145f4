"""The adaptive limit as a function of readings: additive increase, multiplicative decrease (AIMD).

Once in each period a process compares its readings with their targets. The worst of the three
quotients, smoothed, decides:

- above 1 the limit is multiplied by its inverse, which is kept between 0.5 and 0.9: it falls
  geometrically. Then it rests for two periods, so that the effect can be seen: what runs is not
  ended, and the readings follow only as instances end.
- below 0.8 it rises by its square root. Before it was lowered for the first time it doubles, as a
  new connection of TCP does.
- in between it stays. Constant readings move the limit in one direction, or not at all.

Where the readings follow the limit itself, it settles around the target, and swings by one
decrease and the increases that lead back: at most a quarter of it.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from tenuto.model.load import LoadReadings, ResourceBasedLimits

CALM: Final = 0.8
"""Below this part of its target no reading keeps the limit from rising."""
GENTLEST, HARDEST = 0.9, 0.5
"""The limits of one decrease."""
REST: Final = 2
"""Periods without another decrease after one."""
SMOOTHING: Final = 0.5
"""The weight of the newest readings."""
MOST_RISE: Final = 2
"""A process asks for at most this multiple of the limit that is in force, so that the end of the
process that asked for the lowest one does not let all waiting instances in at once."""


class LimitState(Struct, frozen=True, kw_only=True):
    """What the next decision depends on, beside the next readings."""

    limit: int
    readings: LoadReadings = LoadReadings()
    """Smoothed."""
    is_new: bool = True
    """Whether the limit was never lowered."""
    rest: int = 0
    """For how many periods it is not lowered again."""
    reason: str = "it has just been turned on"
    """Why the limit is what it is."""


def first_state(rules: ResourceBasedLimits) -> LimitState:
    """The state of a process that has measured nothing yet."""
    return LimitState(limit=rules.min)


def next_state(
    rules: ResourceBasedLimits,
    state: LimitState,
    seen: LoadReadings,
    in_force: int | None = None,
) -> LimitState:
    """The state after another period; `in_force`: the lowest limit that any process asks for."""
    readings = _smoothed(state.readings, seen)
    quotient, about = _worst(rules, readings)
    limit, rest, is_new = min(max(state.limit, rules.min), rules.max), max(state.rest - 1, 0), False
    if quotient > 1.0:
        if rest == 0:
            factor = min(max(1 / quotient, HARDEST), GENTLEST)
            limit, rest = max(rules.min, math.floor(limit * factor)), REST + 1
        reason = f"at its least: {about}" if limit == rules.min else f"lowered: {about}"
    elif quotient < CALM:
        is_new = state.is_new
        limit = min(rules.max, limit * 2 if is_new else limit + math.isqrt(limit))
        if in_force is not None:
            limit = max(rules.min, min(limit, MOST_RISE * in_force))
        reason = f"not lowered: {about}" if limit == rules.max else f"rising: {about} at most"
    else:
        is_new = state.is_new
        reason = f"kept: {about}"
    return replace(state, limit=limit, readings=readings, is_new=is_new, rest=rest, reason=reason)


def _smoothed(before: LoadReadings, seen: LoadReadings) -> LoadReadings:
    return LoadReadings(
        loop_lag_ms=_mixed(before.loop_lag_ms, seen.loop_lag_ms),
        commit_ms=_mixed(before.commit_ms, seen.commit_ms),
        memory_percent=_mixed(before.memory_percent, seen.memory_percent),
    )


def _mixed(before: float, seen: float) -> float:
    return before + SMOOTHING * (seen - before)


def _worst(rules: ResourceBasedLimits, readings: LoadReadings) -> tuple[float, str]:
    """The highest quotient of a reading and its target, and both as text."""
    targets = rules.targets
    found = (
        ("loop lag", readings.loop_lag_ms, targets.loop_lag_ms, "ms"),
        ("commit latency", readings.commit_ms, targets.commit_ms, "ms"),
        ("memory", readings.memory_percent, targets.memory_percent, "%"),
    )
    name, value, target, unit = max(found, key=lambda each: each[1] / each[2])
    return value / target, f"{name} {spelled(value)} {unit} of {spelled(target)} {unit}"


def spelled(value: float) -> str:
    """A reading for people: 80, 1,200, 0.4."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
