"""How many jobs of a task with limits may be leased now; the same for every store.

Pure: times are milliseconds that are handed in. Tokens, each of which lets an attempt begin, are
counted in millionths.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tenuto.store.parts.jobs import Hindrance, LimitedTask

WHOLE = 1_000_000
"""A token."""


class Tokens(NamedTuple):
    """How many attempts a rate let begin at a moment; None: it was never asked."""

    left: int | None = None
    at: int = 0

    def now(self, rate: float, now: int) -> int:
        """What it lets begin now: after a rest those of one second, and at least one."""
        most = round(max(rate, 1.0) * WHOLE)
        if self.left is None:
            return most
        return min(most, self.left + int(rate * max(now - self.at, 0) * (WHOLE // 1000)))


class Room(NamedTuple):
    """What a task lets begin now."""

    task: LimitedTask
    jobs: int
    by_concurrency: int | None
    """How many its concurrency lets begin; None: any number."""
    tokens: int | None
    """Before anything begins; None: it has no rate."""

    def spent(self, begun: int) -> int | None:
        """The tokens once so many have begun; None: none are counted."""
        return None if self.tokens is None else self.tokens - begun * WHOLE

    def hindrance(self, begun: int) -> Hindrance | None:
        """Why no more begin, where the limits are the reason."""
        if begun < self.jobs or self.jobs >= self.task.most:
            return None
        task, rate = self.task, self.task.limits.rate_per_second
        if self.by_concurrency is not None and begun >= self.by_concurrency:
            return Hindrance(task.tenant, task.task_id, "concurrency")
        assert rate is not None
        missing = max(WHOLE - (self.spent(begun) or 0), 0) / WHOLE
        seconds = math.ceil(missing / rate * 1000) / 1000
        return Hindrance(task.tenant, task.task_id, "rate", seconds)


def room(task: LimitedTask, held: int, tokens: Tokens, now: int) -> Room:
    """What a task lets begin where `held` of its attempts are under way."""
    limits = task.limits
    jobs, by_concurrency, left = task.most, None, None
    if limits.concurrency is not None:
        by_concurrency = max(limits.concurrency - held, 0)
        jobs = min(jobs, by_concurrency)
    if limits.rate_per_second is not None:
        left = tokens.now(limits.rate_per_second, now)
        jobs = min(jobs, max(left // WHOLE, 0))
    return Room(task, jobs, by_concurrency, left)
