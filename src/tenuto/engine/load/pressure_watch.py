"""Keeps the pressure on this process up to date while it serves requests."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tenuto.engine.load.askers import Askers
from tenuto.engine.load.load_meter import LoadMeter
from tenuto.engine.load.pressure import (
    CALM,
    LONGEST,
    ORDER,
    Pressure,
    Sheddable,
    pressure_of,
)
from tenuto.engine.load.starts_under_way import StartsUnderWay
from tenuto.model.errors import Overloaded
from tenuto.model.load import LoadReadings, OverloadBounds
from tenuto.ports import Clock

log = logging.getLogger("tenuto.load")

EVERY: Final = 0.5
"""Seconds between readings."""
SHED_STARTS, SHED_READS = "TEN-2861", "TEN-2862"
_CODES: Final[dict[Sheddable, str]] = {"starts": SHED_STARTS, "reads": SHED_READS}
_SHED: Final[dict[Sheddable, str]] = {
    "starts": "the service is overloaded and refuses starts",
    "reads": "the service is overloaded and refuses lists and statistics",
}


class PressureWatch:
    """The one place that decides which requests are refused under load."""

    def __init__(self, clock: Clock, meter: LoadMeter, bounds: OverloadBounds) -> None:
        self._clock = clock
        self._meter = meter
        self._bounds = bounds
        self.pressure: Pressure = CALM
        self.beside: Pressure = CALM
        """The same for a tenant without a backlog: its inputs do not wait for those of others."""
        self.readings = LoadReadings()
        """The newest ones."""
        self.intake_ms = 0.0
        """How long an input waits for its turn, about, as of the newest reading."""
        self.starts = StartsUnderWay(bounds.answer_ms)
        self.refused: Counter[Sheddable] = Counter()
        self._askers: dict[Sheddable, Askers] = {kind: Askers() for kind in ORDER}
        self._debts: dict[Sheddable, float] = dict.fromkeys(ORDER, 0.0)
        self._worst_lag = self._newest_lag = 0.0
        self.readings_taken = 0
        """How many readings there were."""

    def refuse(self, kind: Sheddable, tenant: str) -> None:
        """Overloaded, for those requests of a kind that are refused now.

        A tenant that asks for little beside others is not refused.
        """
        asks_for_much = self._askers[kind].asks(tenant)
        starts = self.starts
        if kind == "starts" and starts.is_full_for(tenant):
            about = f"{starts.count:,} starts are under way, which takes {starts.seconds:.1f} s"
            raise self._refusal(kind, about, math.ceil(starts.seconds))
        if not self.pressure.share(kind) or not asks_for_much:
            return
        pressure = self.pressure if self._meter.has_backlog(tenant) else self.beside
        share = pressure.share(kind)
        # Spread evenly, and not by chance: of three requests two, of ten one.
        self._debts[kind] += share
        if self._debts[kind] < 1:
            return
        self._debts[kind] -= 1
        raise self._refusal(kind, pressure.reason, pressure.retry_after)

    def _refusal(self, kind: Sheddable, reason: str, seconds: int) -> Overloaded:
        self.refused[kind] += 1
        error = Overloaded(f"{_SHED[kind]}: {reason}", code=_CODES[kind])
        error.retry_after = max(1, min(seconds, LONGEST))
        return error

    @property
    def described(self) -> list[str]:
        """What is refused now, and why: a line for each kind of request."""
        lines = self.pressure.described
        starts = self.starts
        if starts.is_full and not self.pressure.share("starts"):
            lines.append(f"shedding starts: {starts.count:,} of {starts.most:,} are under way")
        return lines

    def take_lag(self) -> float:
        """The most seconds by which the event loop was late since the last call."""
        worst, self._worst_lag = self._worst_lag, self._newest_lag
        return worst

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Measure while inside."""
        task = asyncio.ensure_future(self._watch())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self.pressure = self.beside = CALM

    async def _watch(self) -> None:
        while True:
            began = self._clock.ticks()
            found = await self._meter.measure(EVERY)
            self.starts.measured(self._clock.ticks() - began)
            for askers in self._askers.values():
                askers.turn()
            self.readings_taken += 1
            self.readings, self.intake_ms = found.readings, found.intake_ms
            self._newest_lag = found.worst_lag
            self._worst_lag = max(self._worst_lag, self._newest_lag)
            self.found(found.readings, found.intake_ms, found.beside_ms)

    def found(self, readings: LoadReadings, intake_ms: float, beside_ms: float) -> None:
        """The newest readings, and how long an input waits: any, or of a tenant without others."""
        bounds = self._bounds
        self.beside = self.beside.followed_by(pressure_of(bounds, readings, beside_ms))
        self._set(self.pressure.followed_by(pressure_of(bounds, readings, intake_ms)))

    def _set(self, pressure: Pressure) -> None:
        before, self.pressure = self.pressure, pressure
        if pressure.level > before.level:
            log.warning("overload, level %d: %s", pressure.level, pressure.reason)
        elif pressure.level < before.level and not pressure.level:
            log.warning("overload is over: %s", pressure.reason)
