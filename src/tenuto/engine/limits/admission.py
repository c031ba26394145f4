"""The loop that admits instances: a pass after each turn that asks for slots or gives some back."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from tenuto.engine.shared import Shared
from tenuto.model.errors import Overloaded

MOST_SECONDS = 300
"""The longest time after which a refused start is to be tried again."""
_PACED_FOR = 120.0
"""Seconds over which the pace of admission is measured, about."""


class Admissions:
    """Grants slots while there are some, whichever process asked for them or gave them back."""

    def __init__(self, shared: Shared, *, hint: asyncio.Event, sent: Callable[[], None]) -> None:
        """`sent` is called when there are new messages in the mailbox."""
        self._shared = shared
        self._store = shared.store
        self._hint = hint
        self._sent = sent
        self.granted = 0
        """How many slots this process has granted."""
        self._paced = (shared.clock.ticks(), 0)
        """Since when, and from how many, the pace is measured."""

    def start(self) -> None:
        """Begin with what was left when the store was last open."""
        if not self._shared.settings.is_guest:
            self._shared.loops.run("admission", self.run_once, hint=self._hint, first=None)

    async def refuse_start(self, bound: int | None) -> None:
        """Overloaded, with the time after which to try again, where as many wait as may."""
        if bound is None:
            return
        waiting = await self._store.slots.depth(bound)
        if waiting >= bound:
            seconds = self.seconds_for(max(1, waiting // 10))
            error = Overloaded(f"{waiting:,} instances wait for slots", code="TEN-2836")
            error.retry_after = seconds
            raise error

    def seconds_for(self, count: int) -> int:
        """How long it takes until so many are admitted, at the pace of the last minutes."""
        since, granted = self._paced
        elapsed = max(1.0, self._shared.clock.ticks() - since)
        pace = max(self.granted - granted, 1) / elapsed
        return max(1, min(MOST_SECONDS, math.ceil(count / pace)))

    def _note_pace(self) -> None:
        now = self._shared.clock.ticks()
        if now - self._paced[0] > _PACED_FOR:
            self._paced = (now - _PACED_FOR / 2, self.granted)

    def hint(self) -> None:
        """There may be slots to grant."""
        self._hint.set()

    async def run_once(self) -> float | None:
        """Grant what fits; returns 0 where there is more, else waits for the hint."""
        admission = await self._store.slots.admit(self._shared.clock.now())
        self.granted += admission.granted
        self._note_pace()
        if admission.has_mail:
            self._sent()
        return None if admission.is_done else 0.0
