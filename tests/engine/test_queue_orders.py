"""Orders of a queue: by priority, in which who has waited for long ages, and by deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio

from tenuto import InstanceRef, Tenuto
from tenuto.model.json import Object
from tenuto.ports import SystemClock
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

WORK: Object = {
    "id": "work",
    "steps": [{"stepId": "a", "type": "TASK", "taskId": "note", "input": "{{ctx.input}}"}],
}


class Ahead(SystemClock):
    """The wall clock, which a test puts forward."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


class Queue(NamedTuple):
    """An app whose instances wait for one slot, and the order in which they have begun."""

    app: Tenuto
    clock: Ahead
    begun: list[str]

    async def start(self, name: str, priority: int, *, minutes: int = 0) -> InstanceRef:
        """Start an instance so long after the one before."""
        self.clock.ahead += timedelta(minutes=minutes)
        return await self.app.start("work", name, priority=priority)

    async def order(self, at_most: int, order: str) -> None:
        """Let so many run at once, the others in this order."""
        document: Object = {"globalMaxConcurrent": at_most, "queue": {"order": order}}
        await self.app.limits.set(document)


@pytest_asyncio.fixture(params=["memory", "sqlite", "postgres"])
async def queue(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Queue]:
    urls = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'queue.db'}"}
    url = urls.get(request.param) or await fresh_database()
    clock, begun = Ahead(), list[str]()
    async with Tenuto(url, clock=clock) as app:

        @app.task
        async def note(name: str) -> None:
            begun.append(name)

        await app.deploy(WORK)
        yield Queue(app, clock, begun)


async def test_who_has_waited_for_its_aging_goes_before_newer_ones_of_more_priority(
    queue: Queue,
) -> None:
    order: Object = {"order": "priority", "aging": "PT1M"}
    await queue.app.limits.set({"globalMaxConcurrent": 0, "queue": order})
    started = [
        await queue.start("low", 0),
        await queue.start("high, 4 minutes newer", 5, minutes=4),
        await queue.start("high, 6 minutes newer", 5, minutes=2),
    ]
    await queue.app.limits.set({"globalMaxConcurrent": 1, "queue": order})
    async with asyncio.timeout(60):
        for each in started:
            await each.result(timeout=60)
    assert queue.begun == ["high, 4 minutes newer", "low", "high, 6 minutes newer"]


async def test_a_stream_of_urgent_ones_does_not_keep_one_that_waits_from_its_slot(
    queue: Queue,
) -> None:
    """It has aged by 5 steps of priority when the third one comes."""
    order: Object = {"order": "priority", "aging": "PT1M"}
    await queue.app.limits.set({"globalMaxConcurrent": 0, "queue": order})
    low = await queue.start("low", 0)
    urgent = [await queue.start(f"urgent {n}", 5, minutes=2) for n in range(1, 6)]
    await queue.app.limits.set({"globalMaxConcurrent": 1, "queue": order})
    for each in (low, *urgent):
        await each.result(timeout=60)
    assert queue.begun == ["urgent 1", "urgent 2", "low", "urgent 3", "urgent 4", "urgent 5"]


@pytest.mark.parametrize("before", ["fifo", "priority", "deadline"])
async def test_the_earliest_deadline_comes_first_and_none_counts_as_one_in_a_day(
    queue: Queue, before: str
) -> None:
    """Also for those that have asked while the queue had another order."""
    await queue.order(0, before)
    started = []
    for name, hours in (("3 days", 72), ("none", None), ("23 hours", 23), ("1 hour", 1)):
        due = None if hours is None else queue.clock.now() + timedelta(hours=hours)
        started.append(await queue.app.start("work", name, priority=9, deadline=due))
        queue.clock.ahead += timedelta(minutes=1)
    await queue.order(0, "deadline")
    started.append(await queue.start("later, none", 0))
    await queue.order(1, "deadline")
    for each in started:
        await each.result(timeout=60)
    assert queue.begun == ["1 hour", "23 hours", "none", "later, none", "3 days"]


async def test_who_came_first_goes_first_whatever_its_priority_and_its_deadline(
    queue: Queue,
) -> None:
    await queue.order(0, "fifo")
    started = [await queue.start("first", 0)]
    soon = queue.clock.now() + timedelta(minutes=9)
    queue.clock.ahead += timedelta(minutes=1)
    started.append(await queue.app.start("work", "second", priority=9, deadline=soon))
    await queue.order(1, "fifo")
    for each in started:
        await each.result(timeout=60)
    assert queue.begun == ["first", "second"]
