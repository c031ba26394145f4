"""A runner on a clock that is moved by hand, and what it reported."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TypedDict, Unpack

from tenuto.built_in.protocol import Executors
from tenuto.model.effects import StartAttempt
from tenuto.model.failure import Failure
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import JSON
from tenuto.model.policy import Limits
from tenuto.ports import Timer
from tenuto.tasks import Facts, Registry, Runner
from tenuto.tasks.runner import Lines
from tests.kit.turns import turns

INSTANCE = "0190a0b0-0000-7000-8000-000000000001"
TOO_LONG = 20.0
"""Real seconds after which a test that waits for something has failed."""


LIMITS = Limits(output_bytes=1_000_000)


class Options(TypedDict, total=False):
    """What a runner can be told beside its limits."""

    max_threads: int
    max_stuck_threads: int
    max_processes: int
    on_block: Callable[[str], None]
    lines: Lines
    executors: Executors


class Fields(TypedDict, total=False):
    """What an order says beside its task; times in seconds."""

    iteration: str
    attempt: int
    timeout: float
    silence: float
    handles: tuple[str, ...]


class _HandTimer:
    def __init__(self, due: float, function: Callable[[], object]) -> None:
        self.due = due
        self.function = function
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class HandClock:
    """Time that moves only when a test moves it."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self._numbers = itertools.count()
        self._timers: list[tuple[float, int, _HandTimer]] = []

    @property
    def timers(self) -> int:
        return sum(not timer.is_cancelled for _, _, timer in self._timers)

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def follow(self, moment: datetime) -> None:
        """Nobody else's time counts."""

    def not_before(self, moment: datetime) -> None:
        raise AssertionError(f"no store tells a runner that it is {moment}")

    def ticks(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        self.call_later(seconds, lambda: woken.set_result(None))
        await woken

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        coming = asyncio.ensure_future(event.wait())
        timer = self.call_later(seconds, coming.cancel)
        await asyncio.wait([coming])
        timer.cancel()
        return not coming.cancelled()

    def call_later(self, seconds: float, function: Callable[[], object]) -> Timer:
        timer = _HandTimer(self.seconds + seconds, function)
        heapq.heappush(self._timers, (timer.due, next(self._numbers), timer))
        return timer

    def advance(self, seconds: float) -> None:
        end = self.seconds + seconds
        while self._timers and self._timers[0][0] <= end:
            _, _, timer = heapq.heappop(self._timers)
            self.seconds = max(self.seconds, timer.due)
            if not timer.is_cancelled:
                timer.function()
        self.seconds = end


class Reports:
    """Everything that was reported, in order."""

    def __init__(self) -> None:
        self.all: list[TaskSucceeded | TaskFailed] = []
        self._came = asyncio.Event()

    def __call__(self, instance_id: str, report: TaskSucceeded | TaskFailed) -> None:
        assert instance_id == INSTANCE
        self.all.append(report)
        self._came.set()

    async def until(self, count: int) -> list[TaskSucceeded | TaskFailed]:
        async with asyncio.timeout(TOO_LONG):
            while len(self.all) < count:
                self._came.clear()
                await self._came.wait()
        return self.all


class Stage:
    """A runner, its clock and its reports."""

    def __init__(self, registry: Registry, **options: Unpack[Options]) -> None:
        self.clock = HandClock()
        self.reports = Reports()
        self.runner = Runner(registry, self.clock, self.reports, limits=LIMITS, **options)

    def start(
        self,
        task_id: str,
        input: JSON = None,
        *,
        node: str | None = None,
        facts: Facts | None = None,
        **fields: Unpack[Fields],
    ) -> None:
        self.runner.start(INSTANCE, order(task_id, input, node, **fields), facts or Facts())

    def stop(self, node: str, grace: float | None = None) -> None:
        self.runner.stop(INSTANCE, node, "", 1, grace)

    async def report(self, number: int = 1) -> TaskSucceeded | TaskFailed:
        """The report with this number, counted from 1."""
        return (await self.reports.until(number))[number - 1]

    async def output(self, number: int = 1) -> JSON:
        report = await self.report(number)
        assert isinstance(report, TaskSucceeded), report
        return report.output

    async def failure(self, number: int = 1) -> Failure:
        report = await self.report(number)
        assert isinstance(report, TaskFailed), report
        return report.error


@asynccontextmanager
async def stage(registry: Registry, **options: Unpack[Options]) -> AsyncIterator[Stage]:
    """A runner that leaves nothing behind."""
    made = Stage(registry, **options)
    try:
        yield made
    finally:
        draining = asyncio.ensure_future(made.runner.drain(0))
        await turns()
        made.clock.advance(60)
        await draining


def order(
    task_id: str, input: JSON = None, node: str | None = None, **fields: Unpack[Fields]
) -> StartAttempt:
    node = node or task_id
    return StartAttempt(
        node=node,
        iteration=fields.get("iteration", ""),
        attempt=fields.get("attempt", 1),
        task_id=task_id,
        input=input,
        idempotency_key=f"{INSTANCE}:{node}",
        timeout=timedelta(seconds=fields.get("timeout", 600)),
        heartbeat_timeout=timedelta(seconds=silence)
        if (silence := fields.get("silence"))
        else None,
        handles=fields.get("handles", ()),
    )
