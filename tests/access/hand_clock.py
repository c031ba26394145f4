"""A clock that stands still until somebody moves it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2030, 1, 1, 12, tzinfo=UTC)


class HandTimer:
    def __init__(self, due: float, function: Callable[[], object]) -> None:
        self.due = due
        self.function = function
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class HandClock:
    """The clock port; timers fire when it is moved past them."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.timers: list[HandTimer] = []

    def now(self) -> datetime:
        return BEGIN + timedelta(seconds=self.passed)

    def follow(self, moment: datetime) -> None: ...

    def not_before(self, moment: datetime) -> None: ...

    def ticks(self) -> float:
        return self.passed

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        raise NotImplementedError

    def call_later(self, seconds: float, function: Callable[[], object]) -> HandTimer:
        timer = HandTimer(self.passed + seconds, function)
        self.timers.append(timer)
        return timer

    def move(self, seconds: float) -> None:
        self.passed += seconds
        due = [each for each in self.timers if each.due <= self.passed]
        self.timers = [each for each in self.timers if each.due > self.passed]
        for each in due:
            if not each.is_cancelled:
                each.function()
