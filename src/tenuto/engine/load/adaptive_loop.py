"""The loop of the adaptive limit: measures, decides, and writes what this process asks for.

Of several processes the one that asks for the lowest limit decides. What a process asks for counts
for 15 seconds after it was written, so that a dead process holds nothing up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from tenuto.engine.limits.known_limits import KnownLimits
from tenuto.engine.load.adaptive_limit import LimitState, first_state, next_state
from tenuto.engine.load.load_meter import LoadMeter
from tenuto.engine.shared import Shared
from tenuto.model.durations import epoch_ms
from tenuto.model.load import LoadReport, ResourceBasedLimits
from tenuto.store.parts.load_reports import KEPT_FOR
from tenuto.store.parts.slot_rows import SERVICE

log = logging.getLogger("tenuto.load")

PERIOD: Final = 1.0
"""Seconds between decisions."""
_REPORT_EVERY: Final = KEPT_FOR.total_seconds() / 3
"""Seconds after which a limit that did not change is written again."""
_MUCH: Final = 1.5
"""A change by this factor since the last log line has another."""


class AdaptiveLimit:
    """What this process asks for. Without `resourceBasedLimits` it measures and writes nothing."""

    def __init__(
        self,
        shared: Shared,
        limits: KnownLimits,
        meter: LoadMeter,
        *,
        process_id: Callable[[], str],
        admit: Callable[[], None],
    ) -> None:
        """`admit` is called when the limit that is in force may have risen."""
        self._shared = shared
        self._limits = limits
        self._meter = meter
        self._process_id = process_id
        self._admit = admit
        self._changed = asyncio.Event()
        self._rules: ResourceBasedLimits | None = None
        """Those of `state`."""
        self.state: LimitState | None = None
        """None: it is turned off."""
        self.in_force: int | None = None
        """The lowest that any process asks for."""
        self._written: tuple[int, float] | None = None
        """What was written last, and when."""
        self._logged = 0

    def start(self) -> None:
        """Begin to look for limits that are set."""
        if self._shared.settings.is_guest:
            return
        self._limits.heard.append(self._changed.set)
        self._shared.loops.run("adaptive limit", self.run_once, hint=self._changed)

    @property
    def lowered(self) -> str | None:
        """That the limit in force is below its most; None: it is not, or it is turned off."""
        state, rules = self.state, self._rules
        if state is None or rules is None or self.in_force is None or state.is_new:
            return None
        if self.in_force >= rules.max:
            return None
        return f"adaptive limit: {self.in_force} of {rules.max}; this process: {state.reason}"

    async def run_once(self) -> float | None:
        """One period; waits for the limits to change where it is turned off."""
        rules = self._limits.config(SERVICE).resource_based_limits
        if rules is None or not rules.enabled:
            await self._stop()
            return None
        if self.state is None or rules != self._rules:
            self._rules, self.state = rules, self.state or first_state(rules)
        measured = await self._meter.measure(PERIOD)
        self.state = next_state(rules, self.state, measured.readings, self.in_force)
        await self._report(self.state)
        return 0.0

    async def _report(self, state: LimitState) -> None:
        ticks, written = self._shared.clock.ticks(), self._written
        if written is not None and written[0] == state.limit and ticks - written[1] < _REPORT_EVERY:
            return
        readings = state.readings
        report = LoadReport(
            process_id=self._process_id(),
            asked=state.limit,
            loop_lag_ms=round(readings.loop_lag_ms),
            commit_ms=round(readings.commit_ms),
            memory_percent=round(readings.memory_percent),
            reason=state.reason,
            at_ms=epoch_ms(self._shared.clock.now()),
        )
        before = self.in_force
        self.in_force = await self._shared.store.load_reports.report(report, before=before)
        self._limits.adapt(self.in_force)
        self._written = (state.limit, ticks)
        if before is None or self.in_force > before:
            self._admit()
        self._log(state)

    def _log(self, state: LimitState) -> None:
        last, now = self._logged, state.limit
        if not last or now >= last * _MUCH or now * _MUCH <= last:
            self._logged = now
            log.info("adaptive limit: this process asks for %d (%s)", now, state.reason)

    async def _stop(self) -> None:
        if self.state is not None:
            await self._shared.store.load_reports.forget(self._process_id())
            self.state = self.in_force = self._written = None
            self._limits.adapt(None)
