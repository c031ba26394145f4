"""The pressure on a process: from its readings, how many of which requests are refused.

Pressure is a number: the worst quotient of a reading and its bound. Up to 1 nothing is refused.
From 1 to 2 a growing part of the starts is, from 2 on every start and, up to 3, a growing part of
the expensive reads. Other requests are never refused by it: results of attempts, heartbeats,
cancels, decisions, events and reads of single records are what ends the load.

A part, instead of all or none, lets the process stay at work: at three times of what it can take,
it settles where two of three starts are refused.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tenuto.engine.load.adaptive_limit import spelled
from tenuto.model.load import LoadReadings, OverloadBounds

Sheddable: TypeAlias = Literal["starts", "reads"]
"""Kinds of requests that are refused under pressure, in this order."""
ORDER: Final[tuple[Sheddable, ...]] = ("starts", "reads")
MOST: Final = 1.0 + len(ORDER)
"""From here on all of these are refused."""
SMOOTHING: Final = 0.5
"""The weight of the newest readings."""
_NEAR: Final = 0.01
"""From a smaller step on the newest readings count alone, so that their pressure is reached."""
LONGEST: Final = 60
"""Seconds: the longest time after which a refused client is to try again."""
_MEMORY_SECONDS: Final = 10
"""Memory does not become free at once."""


class Pressure(Struct, frozen=True, kw_only=True):
    """How much a process is beyond its bounds, and why."""

    value: float = 0.0
    reason: str = ""
    """Such as `commit latency 2,400 ms of 2,000 ms`."""
    retry_after: int = 1
    """Seconds after which a refused request may be taken."""

    @property
    def level(self) -> int:
        """0: nothing is refused; 1: starts are; 2: expensive reads too."""
        return min(2, math.floor(self.value)) if self.value > 1 else 0

    def share(self, kind: Sheddable) -> float:
        """The part of the requests of a kind that is refused, from 0 to 1."""
        return min(max(self.value - 1 - ORDER.index(kind), 0.0), 1.0)

    def followed_by(self, newest: Pressure) -> Pressure:
        """The pressure after newer readings, smoothed.

        However bad one reading is, the ones after it soon count for more.
        """
        aim = min(newest.value, MOST)
        step = SMOOTHING * (aim - self.value)
        value = aim if abs(step) < _NEAR else self.value + step
        return replace(newest, value=value)

    @property
    def described(self) -> list[str]:
        """A line for each kind of request of which some are refused."""
        return [
            f"shedding {kind}, {math.ceil(self.share(kind) * 100)} %: {self.reason}"
            for kind in ORDER
            if self.share(kind)
        ]


CALM = Pressure()


def pressure_of(bounds: OverloadBounds, readings: LoadReadings, intake_ms: float) -> Pressure:
    """The pressure that readings mean; `intake_ms`: how long an input waits for its turn."""
    found = [
        (value / bound, f"{name} {spelled(value)} ms of {spelled(bound)} ms")
        for name, value, bound in (
            ("loop lag", readings.loop_lag_ms, bounds.loop_lag_ms),
            ("commit latency", readings.commit_ms, bounds.commit_ms),
            ("wait for a turn", intake_ms, bounds.intake_ms),
        )
        if bound is not None
    ]
    memory = _memory(bounds.memory_percent, readings.memory_percent)
    if not found and memory is None:
        return CALM
    value, reason = max([*found, *([] if memory is None else [memory])])
    seconds = math.ceil(max(value, intake_ms / 1_000))
    if memory is not None and value == memory[0]:
        seconds = max(seconds, _MEMORY_SECONDS)
    return Pressure(value=value, reason=reason, retry_after=max(1, min(seconds, LONGEST)))


def _memory(bound: float | None, percent: float) -> tuple[float, str] | None:
    """There is nothing beyond all of the memory: 3 is reached there."""
    if bound is None:
        return None
    about = f"memory {spelled(percent)} % of {spelled(bound)} %"
    if percent < bound or bound >= 100:
        return percent / bound, about
    return 1 + 2 * (percent - bound) / (100 - bound), about
