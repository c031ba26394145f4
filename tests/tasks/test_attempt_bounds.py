"""Bounds on attempts in one process: what is over them waits, and holds up no other task."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from tenuto import Settings, TaskLimits, Tenuto
from tenuto.model.errors import TenutoError
from tenuto.model.json import Object
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.tasks.registry import Registry


class Tasks:
    """Two tasks that run until they are let go; how many of each run."""

    def __init__(self, at_most: int | None = None) -> None:
        self.registry = Registry()
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.go = asyncio.Event()
        self.changed = asyncio.Condition()

        @self.registry.task(at_most=at_most)
        async def slow() -> None:
            await self._run("slow")

        @self.registry.task
        async def quick() -> None:
            await self._run("quick")

    async def _run(self, name: str) -> None:
        self.running[name] += 1
        for each, number in ((name, self.running[name]), ("all", self.running.total())):
            self.most[each] = max(self.most[each], number)
        async with self.changed:
            self.changed.notify_all()
        await self.go.wait()
        self.running[name] -= 1

    async def until(self, **running: int) -> None:
        async with self.changed, asyncio.timeout(30):
            await self.changed.wait_for(lambda: +self.running == Counter(running))


def flow(task: str) -> Object:
    return {"id": task, "steps": [{"stepId": "a", "type": "TASK", "taskId": task}]}


@pytest.mark.asyncio
async def test_a_task_at_its_bound_leaves_the_places_of_the_process_to_others() -> None:
    tasks = Tasks(at_most=1)
    settings = Settings(attempts=3)
    async with Tenuto(tasks=tasks.registry, settings=settings) as app:
        for task in ("slow", "quick"):
            await app.deploy(flow(task))
        runs = [await app.start("slow") for _ in range(5)]
        runs += [await app.start("quick") for _ in range(5)]
        await tasks.until(slow=1, quick=2)
        explained: list[Any] = [(await run.explain())["causes"] for run in runs]
        said = Counter(cause["message"] for causes in explained for cause in causes)
        assert said == {
            "attempt 1 runs": 3,
            "attempt 1 waits: 1 of 1 attempts of slow run in its process": 4,
            "attempt 1 waits: 3 of 3 attempts run in its process": 3,
        }
        tasks.go.set()
        for run in runs:
            await run.result(timeout=30)
    assert (tasks.most["slow"], tasks.most["all"]) == (1, 3)


@pytest.mark.asyncio
async def test_one_that_waits_and_is_cancelled_never_begins() -> None:
    tasks = Tasks(at_most=1)
    async with Tenuto(tasks=tasks.registry) as app:
        await app.deploy(flow("slow"))
        first = await app.start("slow")
        await tasks.until(slow=1)
        second, third = [await app.start("slow") for _ in range(2)]
        await second.cancel("not needed")
        await app.engine.final_state(second.id)
        tasks.go.set()
        for run in (first, third):
            await run.result(timeout=30)
        assert await second.status() == "CANCELLED"
    assert tasks.most["slow"] == 1


@pytest.mark.asyncio
async def test_what_waits_when_a_process_stops_begins_in_the_next() -> None:
    tasks = Tasks(at_most=1)
    disk = MemoryDisk()
    tasks.go.set()
    settings = Settings(stop_grace=0.0)
    held = Tasks(at_most=1)
    async with Tenuto(MemoryStore(disk), tasks=held.registry, settings=settings) as app:
        await app.deploy(flow("slow"))
        ids = [(await app.start("slow")).id for _ in range(3)]
        await held.until(slow=1)
    async with Tenuto(MemoryStore(disk), tasks=tasks.registry) as app:
        for id in ids:
            assert (await app.engine.final_state(id)).state.status == "COMPLETED"


@pytest.mark.asyncio
async def test_a_backlog_of_tasks_without_limits_does_not_starve_a_task_with_limits() -> None:
    """Its attempts are claimed, and take turns with those that wait in the process."""
    registry, began, go = Registry(), list[str](), asyncio.Event()

    @registry.task
    async def slow() -> None:
        began.append("slow")
        await go.wait()
        for _ in range(100):
            await asyncio.sleep(0)  # others have turns of the loop meanwhile

    @registry.task(limits=TaskLimits(concurrency=5))
    async def quick() -> None:
        began.append("quick")

    async with Tenuto(tasks=registry, settings=Settings(attempts=1)) as app:
        for task in ("slow", "quick"):
            await app.deploy(flow(task))
        runs = [await app.start("slow") for _ in range(100)]
        runs += [await app.start("quick") for _ in range(5)]
        go.set()
        for run in runs:
            await run.result(timeout=30)
        assert began.count("quick") == 5
        last = max(place for place, name in enumerate(began) if name == "quick")
        assert last < 60, "tasks take turns"
        assert app.engine.effects.runner.room("slow") == 1, "no place is kept at rest"


@pytest.mark.asyncio
async def test_a_place_that_is_kept_for_a_cancelled_attempt_is_free_again() -> None:
    tasks = Tasks()
    settings = Settings(attempts=1)
    async with Tenuto(tasks=tasks.registry, settings=settings) as app:

        @app.task(limits=TaskLimits(concurrency=5))
        async def limited() -> None: ...

        for task in ("slow", "limited"):
            await app.deploy(flow(task))
        runs = [await app.start("slow") for _ in range(5)]
        unwanted = await app.start("limited")
        await tasks.until(slow=1)
        await unwanted.cancel("not needed")
        await app.engine.final_state(unwanted.id)
        tasks.go.set()
        for run in runs:
            await run.result(timeout=30)
        assert app.engine.effects.runner.room("slow") == 1


@pytest.mark.parametrize("at_most", [0, -1, 10_001, 1.5, "2", True])
def test_a_bound_that_is_no_number_of_attempts_is_refused(at_most: int) -> None:
    with pytest.raises(TenutoError, match="at_most") as refused:
        Registry().task(at_most=at_most)(lambda: None)
    assert refused.value.code == "TEN-1802"


@pytest.mark.parametrize(
    "limits",
    [
        TaskLimits(concurrency=0),
        TaskLimits(concurrency=-2),
        TaskLimits(concurrency=1_000_000),
        TaskLimits(concurrency="3"),  # type: ignore[arg-type]
        TaskLimits(rate_per_second=0),
        TaskLimits(rate_per_second=float("inf")),
        {"concurrency": 3},
    ],
)
def test_limits_in_code_that_mean_nothing_are_refused(limits: TaskLimits) -> None:
    with pytest.raises(TenutoError, match="limits") as refused:
        Registry().task(limits=limits)(lambda: None)
    assert refused.value.code == "TEN-1802"
